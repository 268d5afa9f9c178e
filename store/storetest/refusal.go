package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func testRefusals(t *testing.T, b *bundle) {
	r := ledger.Refusal{
		ID: "ref_1", Channel: "telegram", Account: "default", ChatType: sessions.Direct, Chat: "5", User: sessions.Peer{ID: "5", Name: "Eve"}, Reason: "a", Level: flow.Internal, Count: 2, First: at(1), Last: at(2),
	}
	other := r
	other.ID, other.Level, other.Last = "ref_2", flow.Public, at(3)
	require.NoError(t, b.SaveRefusals(b.ctx, []ledger.Refusal{r, other}))
	again := r
	again.Reason, again.Count, again.First, again.Last = "b", 3, at(4), at(5)
	require.NoError(t, b.SaveRefusals(b.ctx, []ledger.Refusal{again}))
	again.First, again.Count = at(1), 5
	got, err := b.Refusal(b.ctx, "ref_1")
	require.NoError(t, err)
	require.Equal(t, again, got)
	_, err = b.Refusal(b.ctx, "ref_3")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	for _, c := range []struct {
		most   flow.Level
		before time.Time
		want   []ledger.Refusal
	}{
		{flow.Restricted, time.Time{}, []ledger.Refusal{again, other}},
		{flow.Public, time.Time{}, []ledger.Refusal{other}},
		{flow.Restricted, at(5), []ledger.Refusal{other}},
	} {
		list, err := b.ListRefusals(b.ctx, c.most, c.before, 10)
		require.NoError(t, err)
		require.Equal(t, c.want, list)
	}
}

// testSpeakers reads who has spoken where, without what is above the reader.
func testSpeakers(t *testing.T, b *bundle) {
	open, hidden := b.create(newSession("agent:main:main")), b.create(newSession("agent:main:other"))
	said := func(r sessions.Record, label flow.Label, who, chat string, i int) {
		run := newRun(r.ID)
		run.Label, run.Accepted, run.Input.Sender = label, at(i), sessions.Peer{ID: sessions.UserID(who), Name: "name of " + who}
		run.Route.Conversation = sessions.ConversationID(chat)
		b.commit(ledger.Change{Change: sessions.Change{Enqueue: []sessions.Run{run}}})
	}
	said(open, flow.Bottom(), "1", "a", 1)
	said(open, flow.Bottom(), "2", "a", 2)
	said(open, secret, "3", "a", 3)
	said(open, flow.Bottom(), "1", "b", 4)
	said(open, flow.Bottom(), "1", "a", 5)
	other := newRun(hidden.ID)
	other.Kind, other.Label = sessions.KindNote, flow.Bottom()
	b.commit(ledger.Change{Change: sessions.Change{Enqueue: []sessions.Run{other}}})
	read := func(most flow.Level, limit, bytes int) (lines []string, more bool) {
		bound := ledger.Bound{Bytes: bytes}
		all, err := b.Speakers(b.ctx, most, limit, &bound)
		require.NoError(t, err)
		for _, s := range all {
			require.Equal(t, []any{open.ID, "name of " + string(s.Who.ID)}, []any{s.Session, s.Who.Name})
			lines = append(lines, fmt.Sprintf("%s in %s: %d, %s", s.Who.ID, s.Route.Conversation, s.Count, s.Last.Sub(start)))
		}
		return lines, bound.More
	}
	lines, more := read(flow.Public, 10, 1<<20)
	require.Equal(t, []string{"1 in a: 2, 5m0s", "1 in b: 1, 4m0s", "2 in a: 1, 2m0s"}, lines)
	require.False(t, more)
	lines, more = read(flow.Restricted, 3, 1<<20)
	require.Equal(t, []string{"1 in a: 1, 5m0s", "1 in b: 1, 4m0s", "3 in a: 1, 3m0s"}, lines)
	require.True(t, more)
	lines, more = read(flow.Restricted, 10, 1)
	require.Equal(t, []string{"1 in a: 1, 5m0s"}, lines, "the message that reaches the bound is the last")
	require.True(t, more)
}
