package agent_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

type exchangeRow struct {
	ID, With, Name, Phase, Outcome, Detail string
	Asked                                  bool
	Turn                                   int
}

type state struct {
	Key, Agent, Kind, Model, Taint string
	Running, Queued, TotalTokens   int
	Exchanges, SubAgents           []exchangeRow
}

func (b *bundle) state(t *testing.T, args string) (got state) {
	t.Helper()
	result := b.tool(t, "session_status", args)
	require.False(t, result.Error, result.Text)
	require.NoError(t, json.Unmarshal([]byte(result.Text), &got))
	return got
}

// exchange is one that the tools can find.
func (b *bundle) exchange(kind announce.Kind, from, to sessions.Record, change func(*ledger.Exchange)) {
	x := ledger.Exchange{Label: public}
	x.ID, x.Kind, x.Phase, x.Started = exchange.NewID(), kind, announce.Asking, start
	x.Requester = announce.Party{Session: from.ID, Key: from.Key, Agent: from.Agent}
	x.Target = announce.Party{Session: to.ID, Key: to.Key, Agent: to.Agent}
	change(&x)
	b.store.listed = append(b.store.listed, x)
}

func TestStatusShowsExchangesAndSubAgents(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	own, other := b.session.Record(), b.record(group, public)
	child := b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:main:subagent:c", Agent: "main", Taint: public, SpawnedBy: own.ID})
	b.exchange(announce.Send, own, other, func(x *ledger.Exchange) { x.Phase, x.Turn = announce.Replying, 2 })
	b.exchange(announce.Send, other, own, func(x *ledger.Exchange) {
		x.Exchange = announce.Stop(x.Exchange, "a person stopped it", start)
	})
	b.exchange(announce.Spawn, own, child, func(x *ledger.Exchange) { x.Name = "prices" })
	b.exchange(announce.Send, other, own, func(x *ledger.Exchange) { x.Label, x.Detail = confidential, "secret" })
	b.store.waiting = []sessions.Run{{Status: sessions.RunRunning}, {Status: sessions.RunQueued}, {Status: sessions.RunQueued}}

	got := b.state(t, `{}`)
	ids := []string{b.store.listed[0].ID, b.store.listed[1].ID, b.store.listed[2].ID}
	require.Equal(t, "PUBLIC", got.Taint)
	require.Equal(t, []any{"main", "main", "test/scripted", 1, 2}, []any{got.Agent, got.Kind, got.Model, got.Running, got.Queued})
	require.Equal(t, []exchangeRow{
		{ID: ids[0], With: string(group), Asked: true, Phase: "replying", Turn: 2},
		{ID: ids[1], With: string(group), Phase: "ended", Outcome: "stopped", Detail: "a person stopped it"},
	}, got.Exchanges, "what is more secret is not there")
	require.Equal(t, []exchangeRow{{ID: ids[2], With: "agent:main:subagent:c", Asked: true, Name: "prices", Phase: "asking"}}, got.SubAgents)

	seen := b.state(t, `{"sessionKey":"agent:main:subagent:c"}`)
	require.Equal(t, []exchangeRow{{ID: ids[2], With: "main", Name: "prices", Phase: "asking"}}, seen.Exchanges, "both sides see how it stands")
	require.Equal(t, "other", seen.Kind)
}

// Of what has ended only the newest is shown; what has not ended is never left out for it.
func TestStatusShowsFewThatHaveEnded(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	own, other := b.session.Record(), b.record(group, public)
	for range 8 {
		b.exchange(announce.Send, own, other, func(x *ledger.Exchange) { x.Exchange = announce.Stop(x.Exchange, "over", start) })
	}
	b.exchange(announce.Send, own, other, func(*ledger.Exchange) {})
	rows := b.state(t, `{}`).Exchanges
	require.Len(t, rows, 6)
	require.Equal(t, "asking", rows[0].Phase)
}

func TestStatusSetsTheModel(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.record(group, public)
	require.Equal(t, "test/scripted", b.state(t, `{"model":"test/scripted"}`).Model)
	stored := func() string {
		r, err := b.store.Session(t.Context(), b.run.Session)
		require.NoError(t, err)
		return r.Model.Raw()
	}
	require.Equal(t, "test/scripted", stored())
	require.Equal(t, "test/scripted", b.state(t, `{"model":"default"}`).Model, "the agent's")
	require.Empty(t, stored())
	require.Equal(t, "test/scripted", b.state(t, `{"sessionKey":"current","model":"test/scripted"}`).Model)
	for args, says := range map[string]string{
		`{"model":"test/none"}`: `model: no such model`,
		`{"model":""}`:          "model: is empty; want <provider>/<model>, or default",
		`{"model":7}`:           "model: want a string, got a JSON number",
		`{"sessionKey":"` + string(group) + `","model":"default"}`: "model: can be set for this session alone",
		`{"model":"default","level":"PUBLIC"}`:                     "level: unknown parameter",
	} {
		result := b.tool(t, "session_status", args)
		require.True(t, result.Error, result.Text)
		require.Contains(t, result.Text, says)
	}
	b.run.Input.Owner = false
	require.Equal(t, "model: only an owner may ask for a change", b.tool(t, "session_status", `{"model":"default"}`).Text)
	require.Equal(t, "test/scripted", stored())
}

// A model that may not be told what the session has learnt is refused at once, not with the next message.
func TestStatusSetsNoModelBelowTheSession(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.as(t, b.record("agent:main:http:h", internal), true)
	calls := sessiontest.Calls("session_status", `{"model":"test/scripted"}`, "call_1")
	b.model.Answers = []sessiontest.Answer{func(ctx context.Context, r sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
		b.model.Level = flow.Public
		return calls(ctx, r, on)
	}}
	_, err := b.ask(t.Context(), "take the other model")
	require.ErrorContains(t, err, "more than its model may see")
	messages := b.session.Messages()
	require.Equal(t, "model: this conversation has learned INTERNAL information, and test/scripted may receive at most PUBLIC information", messages[len(messages)-1].Parts[0].Text)
}
