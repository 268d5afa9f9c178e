package nodes_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/nodes"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

func open(t *testing.T) *store.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func TestARequestIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := nodes.New(open(t), func() time.Time { return now }, true)
	for _, bad := range []nodes.Asked{
		{Name: "", Platform: "linux", Token: nodes.Hash("a")},
		{Name: "-x", Platform: "linux", Token: nodes.Hash("a")},
		{Name: "a/b", Platform: "linux", Token: nodes.Hash("a")},
		{Name: strings.Repeat("a", 33), Platform: "linux", Token: nodes.Hash("a")},
		{Name: "a", Platform: "two words", Token: nodes.Hash("a")},
		{Name: "a", Platform: "linux", Token: "a"},
		{Name: "a", Platform: "linux", Token: strings.Repeat("A", 64)},
	} {
		_, err := r.Ask(t.Context(), bad)
		require.Error(t, err, bad)
	}
	first, err := r.Ask(t.Context(), nodes.Asked{Name: "a", Platform: "linux", Token: nodes.Hash("0")})
	require.NoError(t, err)
	again, err := r.Ask(t.Context(), nodes.Asked{Name: "a", Platform: "linux", Token: nodes.Hash("0")})
	require.NoError(t, err)
	require.Equal(t, first, again, "its answer was lost")
	for i := range 15 {
		_, err := r.Ask(t.Context(), nodes.Asked{Name: "a", Platform: "linux", Token: nodes.Hash(fmt.Sprint(i + 1))})
		require.NoError(t, err)
	}
	_, err = r.Ask(t.Context(), nodes.Asked{Name: "a", Platform: "linux", Token: nodes.Hash("x")})
	require.ErrorIs(t, err, nodes.ErrFull)
	now = now.Add(time.Hour)
	_, err = r.Approve(t.Context(), first.Code, flow.Public, "owner")
	require.ErrorIs(t, err, nodes.ErrCode, "the code has expired")
	_, err = r.Ask(t.Context(), nodes.Asked{Name: "a", Platform: "linux", Token: nodes.Hash("x")})
	require.NoError(t, err)
	off := nodes.New(open(t), time.Now, false)
	_, err = off.Ask(t.Context(), nodes.Asked{Name: "a", Platform: "linux", Token: nodes.Hash("x")})
	require.ErrorIs(t, err, nodes.ErrDisabled)
}

func TestANodeHasTheLevelThatItsOwnerGaveIt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	db := open(t)
	r, other := nodes.New(db, func() time.Time { return now }, true), nodes.New(db, func() time.Time { return now }, true)
	asked, err := r.Ask(t.Context(), nodes.Asked{Name: "a", Platform: "linux", Token: nodes.Hash("secret")})
	require.NoError(t, err)
	require.Equal(t, flow.Public, r.Level(asked.ID), "it waits")
	_, err = r.Approve(t.Context(), "WRONG", flow.Restricted, "owner")
	require.ErrorIs(t, err, nodes.ErrCode)
	_, err = r.Approve(t.Context(), "", flow.Restricted, "owner")
	require.ErrorIs(t, err, nodes.ErrCode)
	n, err := r.Approve(t.Context(), strings.ToLower(asked.Code), flow.Confidential, "owner")
	require.NoError(t, err)
	require.Equal(t, flow.NewLabel(flow.Confidential, flow.Untrusted), n.Label)
	require.Equal(t, flow.Confidential, other.Level(n.ID))
	_, err = r.Approve(t.Context(), asked.Code, flow.Restricted, "owner")
	require.ErrorIs(t, err, nodes.ErrCode, "a code is used once")
	found, err := r.Identify(t.Context(), "secret")
	require.NoError(t, err)
	require.Equal(t, n, found)
	_, err = r.Identify(t.Context(), n.Token)
	require.ErrorIs(t, err, sessions.ErrNotFound, "the stored hash is no token")

	lower, err := r.SetLevel(t.Context(), n.ID, flow.Internal, "owner")
	require.NoError(t, err)
	require.Equal(t, flow.Internal, lower.Label.Level())
	require.Equal(t, flow.Internal, r.Level(n.ID))
	now = now.Add(3 * time.Second)
	require.Equal(t, flow.Internal, other.Level(n.ID), "another replica notices")
	same, err := r.SetLevel(t.Context(), n.ID, flow.Internal, "owner")
	require.NoError(t, err)
	require.Equal(t, lower, same, "nothing is stored")

	_, err = r.Revoke(t.Context(), n.ID, "owner")
	require.NoError(t, err)
	require.Equal(t, flow.Public, r.Level(n.ID))
	now = now.Add(3 * time.Second)
	require.Equal(t, flow.Public, other.Level(n.ID), "another replica notices")
	for _, registry := range []*nodes.Registry{r, other} {
		for _, id := range []string{n.ID, "gone"} {
			current, err := registry.Current(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, ledger.NodeRevoked, current.Status)
		}
	}
	_, err = r.SetLevel(t.Context(), n.ID, flow.Public, "owner")
	require.ErrorIs(t, err, sessions.ErrNotFound, "it is no longer a node")
	_, err = r.Revoke(t.Context(), "gone", "owner")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	all, err := db.ListNodes(context.Background(), ledger.NodeQuery{MaxLevel: flow.Restricted})
	require.NoError(t, err)
	require.Equal(t, ledger.NodeRevoked, all[0].Status)
	require.Empty(t, all[0].Code)
}
