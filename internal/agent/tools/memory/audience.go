package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/announce"
	"sluice/internal/agent/roster"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// AudienceStore reads exchanges.
type AudienceStore interface {
	Exchange(ctx context.Context, id string) (ledger.Exchange, error)
	ListExchanges(ctx context.Context, q ledger.ExchangeQuery) ([]ledger.Exchange, error)
}

// Audiences finds the audience of a run.
type Audiences struct {
	Store  AudienceStore
	Roster *roster.Roster
}

// Of is the audience of a run: whose memories the run may read, and to whom the memories that it saves belong.
//
// What owners say to an agent in private belongs to them: a run has their audience only if owners alone have caused
// it, in a direct chat, in a session that is theirs. Any other run has the audience of its conversation, so that no
// wording of a question reveals what an agent was told elsewhere. Messages between agents do not count as an owner's:
// the answer goes to the agent that asked.
func (a *Audiences) Of(ctx context.Context, record sessions.Record, run *sessions.Run) (sessions.Audience, error) {
	if record.Key.SubAgent() {
		return a.ofTask(ctx, record, run)
	}
	s := a.Roster.Settings()
	direct := run.Route.ChatType == sessions.Direct
	if run.Input.Owner && direct && !s.Keyer.Global && ofOwners(s, record.Key) {
		return sessions.AudienceOwner, nil
	}
	if direct && !s.Keyer.Global && record.Key == s.Keyer.Main(record.Key.Agent()) { // it may contain direct chats of several people
		apart := sessions.Keyer{Scope: sessions.ScopePerAccountChannelPeer}
		return sessions.Audience(apart.Key(record.Key.Agent(), run.Route, sessions.UserID(run.Route.Conversation))), nil
	}
	return sessions.Audience(record.Key.Conversation()), nil
}

// ofOwners reports whether a session is an owner's direct chat or a program's, or the main one.
func ofOwners(s *roster.Settings, key sessions.Key) bool {
	switch bare := key.Bare(); {
	case key.Agent() == "", key.Kind(s.Keyer) == sessions.KindGroup:
		return false
	case key == s.Keyer.Main(key.Agent()), strings.HasPrefix(bare, "http:"):
		return true
	default:
		return slices.ContainsFunc(s.Owners, func(owner string) bool {
			channel, who, _ := sessions.ParsePrincipal(owner)
			return directWith(bare, channel, cmp.Or(s.Keyer.Links[owner], string(who)))
		})
	}
}

// directWith reports whether a key, without its agent, belongs to the person's direct chat, in any scope.
func directWith(bare, channel, who string) bool {
	where, ok := strings.CutSuffix(bare, "direct:"+who)
	if !ok || where == "" {
		return ok
	}
	where, ok = strings.CutSuffix(where, ":")
	first, account, _ := strings.Cut(where, ":")
	return ok && first == channel && !strings.Contains(account, ":")
}

// ofTask is the audience of a sub-agent's run: that of the run that started it, as long as the current speaker has
// the same audience. Any other speaker gets the sub-agent's own audience.
func (a *Audiences) ofTask(ctx context.Context, record sessions.Record, run *sessions.Run) (sessions.Audience, error) {
	alone := sessions.Audience(record.Key)
	tasks, err := a.Store.ListExchanges(ctx, ledger.ExchangeQuery{MaxLevel: flow.Restricted, Target: record.ID, Kind: announce.Spawn, Limit: 1})
	if err != nil {
		return "", fmt.Errorf("read task of sub-agent: %w", err)
	}
	if len(tasks) == 0 || tasks[0].Audience == "" {
		return alone, nil
	}
	task := tasks[0]
	if run.Exchange == task.ID || run.Exchange == "" && run.Input.Owner {
		return task.Audience, nil
	}
	if run.Exchange == "" {
		return alone, nil
	}
	x, err := a.Store.Exchange(ctx, run.Exchange)
	if err != nil {
		return "", fmt.Errorf("read exchange: %w", err)
	}
	if x.Audience == task.Audience {
		return task.Audience, nil
	}
	return alone, nil
}
