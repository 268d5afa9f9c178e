package agent

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sluice/policy/flow"
	"sluice/sessions"
)

// addressee is the session that a message goes to.
type addressee struct {
	record sessions.Record
	create bool // it is not stored yet: an agent's main session that nobody has spoken to
	// blind: the caller may speak to it, but must not learn anything of it.
	blind bool
}

// addressee finds the session that a caller may speak to. The error for one that is
// hidden is that for one that is absent; others name the setting that forbids it.
func (l *Loop) addressee(ctx context.Context, caller sessions.Caller, name string) (addressee, error) {
	to := addressee{}
	record, err := l.find(ctx, caller, name)
	switch {
	case errors.Is(err, sessions.ErrNotFound) || (err == nil && !record.Ended.IsZero()):
		if to.record, to.create, err = l.absent(caller, name); err != nil {
			return to, err
		}
	case err != nil:
		return to, inside("read session", err)
	default:
		to.record = record
	}
	if to.record.ID == caller.Session {
		return to, errors.New("sessionKey: that is this session itself")
	}
	own := to.record.ID == l.parentOf(ctx, caller) || to.record.Key == l.settings.Load().Keyer.Main(caller.Agent)
	if err := l.mayReach(caller, to.record, own); err != nil {
		return to, err
	}
	if !flow.CanFlow(to.record.Taint.Level(), caller.Taint.Level()) {
		if !own {
			return to, noSession(name)
		}
		to.blind = true
	}
	if !flow.CanFlow(caller.Taint.Level(), to.record.Taint.Level()) {
		return to, fmt.Errorf("sessionKey: this session has learnt what is %s, and that one may be told only what is %s", caller.Taint.Level(), to.record.Taint.Level())
	}
	return to, nil
}

func noSession(name string) error {
	return fmt.Errorf("sessionKey: there is no session %q; sessions_list shows those that you can see", name)
}

// absent is what a key means for which there is no session: the main session of a configured agent can be begun.
func (l *Loop) absent(caller sessions.Caller, name string) (sessions.Record, bool, error) {
	key, err := l.settings.Load().Keyer.Resolve(name, caller.Agent)
	if err != nil {
		if _, isID := sessions.ParseID(name); isID == nil {
			return sessions.Record{}, false, noSession(name)
		}
		return sessions.Record{}, false, fmt.Errorf("sessionKey: %w", err)
	}
	agent := key.Agent()
	if _, ok := l.definition(agent); ok && key == l.settings.Load().Keyer.Main(agent) {
		return l.exchanges.NewAgentSession(agent), true, nil
	}
	return sessions.Record{}, false, noSession(name)
}

// parentOf is the session that has started the caller's; empty if none has.
func (l *Loop) parentOf(ctx context.Context, caller sessions.Caller) sessions.ID {
	if !strings.Contains(string(caller.Key), subagentMark) {
		return ""
	}
	record, err := l.store.Session(ctx, caller.Session)
	if err != nil {
		return "" // then it has none of a parent's rights
	}
	return record.SpawnedBy
}

// mayReach applies the settings on who may speak to whom. They depend on the keys alone, so that their errors tell nothing of what is there.
func (l *Loop) mayReach(caller sessions.Caller, to sessions.Record, own bool) error {
	s := l.settings.Load()
	if to.Agent != caller.Agent {
		switch {
		case s.Visibility != VisibleAll:
			return fmt.Errorf("sessionKey: sessions of other agents are out of reach: tools.sessions.visibility is %s, it must be all", s.Visibility)
		case !s.AgentToAgent.Enabled:
			return errors.New("sessionKey: sessions of other agents are out of reach: tools.agentToAgent.enabled is off")
		case !s.AgentToAgent.allows(caller.Agent), !s.AgentToAgent.allows(to.Agent):
			return fmt.Errorf("sessionKey: tools.agentToAgent.allow does not name both %s and %s", caller.Agent, to.Agent)
		}
		return nil
	}
	if own || l.reaches(caller, to) {
		return nil
	}
	return noSession(string(to.Key))
}

// AgentToAgent says which agents may speak to each other.
type AgentToAgent struct {
	Enabled bool
	Allow   []string // patterns of agent ids; empty allows any
}

func (a AgentToAgent) allows(agent string) bool {
	return len(a.Allow) == 0 || slices.ContainsFunc(a.Allow, func(pattern string) bool {
		ok, err := path.Match(pattern, agent)
		return ok && err == nil
	})
}
