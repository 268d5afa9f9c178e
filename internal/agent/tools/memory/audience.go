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

// Of is the audience of a run: whose memories a run may read and where what it saves belongs.
//
// What owners say to an agent in private belongs to them: a run has their audience only if owners alone have caused it,
// in a direct chat, in a session that is theirs. Any other run has the audience of its conversation, so that
// nobody reads by any wording what an agent was told elsewhere. What agents say to each
// other has no owner's word: the answer goes to whoever asked.
func (a *Audiences) Of(ctx context.Context, record sessions.Record, run *sessions.Run) (sessions.Audience, error) {
	if record.Key.SubAgent() {
		return a.ofTask(ctx, record, run)
	}
	s := a.Roster.Settings()
	direct := run.Route.ChatType == sessions.Direct
	if run.Input.Owner && direct && !s.Keyer.Global && ofOwners(s, record.Key) {
		return sessions.AudienceOwner, nil
	}
	if direct && !s.Keyer.Global && record.Key == s.Keyer.Main(record.Key.Agent()) { // which hears direct chats of several people
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

// directWith reports whether a key, without its agent, is that of a person's direct chat, in any scope.
func directWith(bare, channel, who string) bool {
	where, ok := strings.CutSuffix(bare, "direct:"+who)
	if !ok || where == "" {
		return ok
	}
	where, ok = strings.CutSuffix(where, ":")
	first, account, _ := strings.Cut(where, ":")
	return ok && first == channel && !strings.Contains(account, ":")
}

// ofTask is that of a sub-agent's run: the audience of the run that started the sub-agent, as long as
// whoever speaks to it now has the same. Anybody else speaks to it alone.
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
