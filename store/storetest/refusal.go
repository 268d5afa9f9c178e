package storetest

import (
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
