package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"sluice/policy"
	"sluice/sessions"
)

// addressee is the session that a message goes to.
type addressee struct {
	record sessions.Record
	create bool // it is not stored yet: an agent's main session that nobody has spoken to
	// blind: the caller may speak to it, but must not learn anything of it.
	blind  bool
	parent bool // it has started the caller's session
}

// addressee finds the session that a caller may speak to. The error for one that is
// hidden is that for one that is absent; others name the setting that forbids it.
func (l *Loop) addressee(ctx context.Context, caller sessions.Caller, name string) (addressee, error) {
	parent := l.parentOf(ctx, caller)
	to, err := l.named(ctx, caller, parent, name)
	if err != nil {
		return to, err
	}
	if to.record.ID == caller.Session {
		return to, errors.New("sessionKey: that is this session itself")
	}
	child := to.record.ID == parent.ID
	own := child || to.record.Key == l.settings.Load().Keyer.Main(caller.Agent) // to these it may always speak
	seen := child || l.reaches(caller, to.record)
	if !own && !seen {
		l.deny(caller, policy.CheckSessionsHidden, to.record)
		return to, noSession(name)
	}
	to.parent = child
	to.blind = !seen // else who can't read a session would have it say what is in it
	who := policy.CallerOf(caller)
	if !who.May(policy.CheckSessionsHidden, to.record.Taint) {
		if !own {
			l.deny(caller, policy.CheckSessionsHidden, to.record)
			return to, noSession(name)
		}
		to.blind = true
	}
	if !who.MayTell(policy.CheckSessionsSend, to.record.Taint.Level()) {
		l.deny(caller, policy.CheckSessionsSend, to.record)
		return to, fmt.Errorf("sessionKey: this session has learnt what is %s, and that one may be told only what is %s: an owner can say /raise %s there; %s",
			caller.Taint.Level(), to.record.Taint.Level(), caller.Taint.Level(), policy.Anew(to.record.Taint.Level()))
	}
	return to, nil
}

// named finds the session that a name means. What a key alone forbids is said before
// anything is looked up, and an id tells nothing of the session behind it.
func (l *Loop) named(ctx context.Context, caller sessions.Caller, parent sessions.Record, name string) (addressee, error) {
	if parent.ID != "" && (name == string(parent.ID) || name == string(parent.Key)) {
		return addressee{record: parent}, nil
	}
	if id, err := sessions.ParseID(name); err == nil {
		record, err := l.store.Session(ctx, id)
		switch {
		case errors.Is(err, sessions.ErrNotFound), err == nil && (!record.Ended.IsZero() || l.crossAgent(caller, record.Agent) != nil):
			return addressee{}, noSession(name)
		case err != nil:
			return addressee{}, inside("read session", err)
		}
		return addressee{record: record}, nil
	}
	key, err := l.settings.Load().Keyer.Resolve(name, caller.Agent)
	if err != nil {
		return addressee{}, fmt.Errorf("sessionKey: %w", err)
	}
	if agent := key.Agent(); agent != "" {
		if err := l.crossAgent(caller, agent); err != nil {
			return addressee{}, err
		}
	}
	record, err := l.store.SessionByKey(ctx, key)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return l.absent(key, name)
	case err != nil:
		return addressee{}, inside("read session", err)
	case l.crossAgent(caller, record.Agent) != nil: // a key that names no agent
		return addressee{}, noSession(name)
	}
	return addressee{record: record}, nil
}

func noSession(name string) error {
	return fmt.Errorf("sessionKey: there is no session %q; sessions_list shows those that you can see", name)
}

// absent is what a key means for which there is no session: the main session of a configured agent can be begun.
func (l *Loop) absent(key sessions.Key, name string) (addressee, error) {
	agent := key.Agent()
	if _, ok := l.definition(agent); ok && key == l.settings.Load().Keyer.Main(agent) {
		return addressee{record: l.exchanges.NewAgentSession(agent), create: true}, nil
	}
	return addressee{}, noSession(name)
}

// parentOf is the session that has started the caller's; a zero record if none has, or if it has ended.
func (l *Loop) parentOf(ctx context.Context, caller sessions.Caller) sessions.Record {
	if !caller.Key.SubAgent() {
		return sessions.Record{}
	}
	record, err := l.store.Session(ctx, caller.Session)
	if err != nil || record.SpawnedBy == "" {
		return sessions.Record{} // then it has none of a parent's rights
	}
	parent, err := l.store.Session(ctx, record.SpawnedBy)
	if err != nil || !parent.Ended.IsZero() || hiddenFrom(caller.Reader, parent.Taint) {
		return sessions.Record{}
	}
	return parent
}

// crossAgent applies the settings on who may speak to whom. They depend on the
// agents alone, so that their errors tell nothing of what is there.
func (l *Loop) crossAgent(caller sessions.Caller, agent string) error {
	s := l.settings.Load()
	d, _ := l.definition(caller.Agent)
	switch {
	case agent == caller.Agent:
		return nil
	case sandboxed(d.Sandbox) && !d.SeesAll:
		return errors.New("sessionKey: sessions of other agents are out of reach: agents.defaults.sandbox.sessionToolsVisibility is spawned, it must be all")
	case s.Visibility != VisibleAll:
		return fmt.Errorf("sessionKey: sessions of other agents are out of reach: tools.sessions.visibility is %s, it must be all", cmp.Or(s.Visibility, VisibleTree))
	case !s.AgentToAgent.Enabled:
		return errors.New("sessionKey: sessions of other agents are out of reach: tools.agentToAgent.enabled is off")
	case !s.AgentToAgent.allows(caller.Agent), !s.AgentToAgent.allows(agent):
		return fmt.Errorf("sessionKey: tools.agentToAgent.allow does not name both %s and %s", caller.Agent, agent)
	}
	return nil
}

// AgentToAgent says which agents may speak to each other.
type AgentToAgent struct {
	Enabled bool
	Allow   []string // patterns of agent ids; empty allows any
}

func (a AgentToAgent) allows(agent string) bool {
	return len(a.Allow) == 0 || policy.NameMatches(a.Allow, agent)
}
