package visibility

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"sluice/internal/agent/roster"
	"sluice/internal/agent/tools"
	"sluice/policy"
	"sluice/sessions"
)

// Addressee is the session that a message goes to.
type Addressee struct {
	Record sessions.Record
	Create bool // it is not stored yet: an agent's main session that nobody has spoken to
	// blind: the caller may speak to it, but must not learn anything of it.
	Blind  bool
	Parent bool // it has started the caller's session
}

// Addressee finds the session that a caller may speak to. The error for one that is
// hidden is that for one that is absent; others name the setting that forbids it.
func (st *Checker) Addressee(ctx context.Context, caller sessions.Caller, name string) (Addressee, error) {
	parent := st.parentOf(ctx, caller)
	to, err := st.named(ctx, caller, parent, name)
	if err != nil {
		return to, err
	}
	if to.Record.ID == caller.Session {
		return to, errors.New("sessionKey: that is this session itself")
	}
	child := to.Record.ID == parent.ID
	talks := st.talks(caller, to.Record.Key)
	own := child || talks || to.Record.Key == st.Roster.Settings().Keyer.Main(caller.Agent) // to these it may always speak
	seen := child || talks || st.reaches(caller, to.Record)
	if !own && !seen {
		st.Deny(caller, policy.CheckSessionsHidden, to.Record)
		return to, NoSession(name)
	}
	to.Parent = child
	to.Blind = !seen // else who can't read a session would have it say what is in it
	who := policy.CallerOf(caller)
	if !who.May(policy.CheckSessionsHidden, to.Record.Taint) {
		if !own {
			st.Deny(caller, policy.CheckSessionsHidden, to.Record)
			return to, NoSession(name)
		}
		to.Blind = true
	}
	if !who.MayTell(policy.CheckSessionsSend, to.Record.Taint.Level()) {
		st.Deny(caller, policy.CheckSessionsSend, to.Record)
		return to, fmt.Errorf("sessionKey: this session has learned %s information, and that one may receive at most %s information: an owner can send /raise %s there; %s",
			caller.Taint.Level(), to.Record.Taint.Level(), caller.Taint.Level(), policy.StartOverHint(to.Record.Taint.Level()))
	}
	return to, nil
}

// named finds the session that a name means. What a key alone forbids is said before
// anything is looked up, and an id tells nothing of the session behind it.
func (st *Checker) named(ctx context.Context, caller sessions.Caller, parent sessions.Record, name string) (Addressee, error) {
	if parent.ID != "" && (name == string(parent.ID) || name == string(parent.Key)) {
		return Addressee{Record: parent}, nil
	}
	if id, err := sessions.ParseID(name); err == nil {
		record, err := st.Store.Session(ctx, id)
		switch {
		case errors.Is(err, sessions.ErrNotFound), err == nil && (!record.Ended.IsZero() || st.crossAgent(caller, record.Agent, record.Key) != nil):
			return Addressee{}, NoSession(name)
		case err != nil:
			return Addressee{}, tools.Inside("read session", err)
		}
		return Addressee{Record: record}, nil
	}
	key, err := st.Roster.Settings().Keyer.Resolve(name, caller.Agent)
	if err != nil {
		return Addressee{}, fmt.Errorf("sessionKey: %w", err)
	}
	if agent := key.Agent(); agent != "" {
		if err := st.crossAgent(caller, agent, key); err != nil {
			return Addressee{}, err
		}
	}
	record, err := st.Store.SessionByKey(ctx, key)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return st.absent(key, name)
	case err != nil:
		return Addressee{}, tools.Inside("read session", err)
	case st.crossAgent(caller, record.Agent, record.Key) != nil: // a key that names no agent
		return Addressee{}, NoSession(name)
	}
	return Addressee{Record: record}, nil
}

// NoSession is the error for a session that does not exist, and for one that the caller may not know of.
func NoSession(name string) error {
	return fmt.Errorf("sessionKey: there is no session %q; sessions_list shows those that you can see", name)
}

// absent is the meaning of a key without a session: the main session of a configured agent can be created.
func (st *Checker) absent(key sessions.Key, name string) (Addressee, error) {
	agent := key.Agent()
	if _, ok := st.Roster.Definition(agent); ok && key == st.Roster.Settings().Keyer.Main(agent) {
		return Addressee{Record: st.NewSession(agent), Create: true}, nil
	}
	return Addressee{}, NoSession(name)
}

// parentOf returns the session that started the caller's session. It returns a zero record for a session that is not a
// sub-agent's, or whose parent has ended.
func (st *Checker) parentOf(ctx context.Context, caller sessions.Caller) sessions.Record {
	if !caller.Key.SubAgent() {
		return sessions.Record{}
	}
	record, err := st.Store.Session(ctx, caller.Session)
	if err != nil || record.SpawnedBy == "" {
		return sessions.Record{} // without a parent's rights
	}
	parent, err := st.Store.Session(ctx, record.SpawnedBy)
	if err != nil || !parent.Ended.IsZero() || tools.HiddenFrom(caller.Reader, parent.Taint) {
		return sessions.Record{}
	}
	return parent
}

// talks reports whether a run may speak to an agent's main session that it does not see: an owner who speaks in one agent's main
// session may have it ask the other agents. Who else may, and which other sessions, is a matter of what the tools see.
func (st *Checker) talks(caller sessions.Caller, to sessions.Key) bool {
	agent, visibility := to.Agent(), cmp.Or(st.Roster.Settings().Visibility, roster.VisibleTree)
	return visibility == roster.VisibleTree && agent != "" && agent != caller.Agent && st.crossAgent(caller, agent, to) == nil
}

// crossAgent applies the settings on who may speak to whom. They depend on the run, the agents and the key alone, so that
// their errors tell nothing of what is there.
func (st *Checker) crossAgent(caller sessions.Caller, agent string, key sessions.Key) error {
	s := st.Roster.Settings()
	d, _ := st.Roster.Definition(caller.Agent)
	visibility := cmp.Or(s.Visibility, roster.VisibleTree)
	refused := func(text string, args ...any) error {
		return fmt.Errorf("sessionKey: sessions of other agents are out of reach: "+text, args...)
	}
	switch {
	case agent == caller.Agent:
		return nil
	case roster.Sandboxed(d.Sandbox) && !d.SeesAll:
		return refused("agents.defaults.sandbox.sessionToolsVisibility is spawned, it must be all")
	case visibility == roster.VisibleTree && key != s.Keyer.Main(agent):
		return refused("tools.sessions.visibility is tree, which leaves only their main sessions (agent:<id>:main); all allows the others")
	case visibility == roster.VisibleTree && !(caller.Owner && caller.Key == s.Keyer.Main(caller.Agent)):
		return refused("tools.sessions.visibility is tree, which leaves them to an owner who speaks in the main session; all allows this session, too")
	case visibility != roster.VisibleTree && visibility != roster.VisibleAll:
		return refused("tools.sessions.visibility is %s, it must be tree or all", visibility)
	case !s.AgentToAgent.Enabled:
		return refused("tools.agentToAgent.enabled is off, it must be on")
	case !s.AgentToAgent.Allows(caller.Agent), !s.AgentToAgent.Allows(agent):
		return fmt.Errorf("sessionKey: tools.agentToAgent.allow does not name both %s and %s", caller.Agent, agent)
	}
	return nil
}
