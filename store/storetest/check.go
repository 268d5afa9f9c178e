package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

func newCheck(name string, looked int) ledger.Check {
	return ledger.Check{
		Name: name, Revision: 1, Label: secret, Looked: at(looked),
		CheckDetail: ledger.CheckDetail{
			Plan: "p", Hash: "h", Value: `"ü\u0000"`, Before: "1", Changed: at(1), Holds: true, News: 3, Error: "it answers 500", Failing: at(2), Fails: 4,
		},
	}
}

func storeChecks(c ...ledger.Check) ledger.Change { return ledger.Change{Checks: c} }

func testCheckRoundTrip(t *testing.T, b *bundle) {
	c := newCheck("ci", 1)
	b.commit(storeChecks(c, ledger.Check{Name: "disk", Revision: 1, Label: secret, Looked: at(1)}))
	got, err := b.Check(b.ctx, "ci")
	require.NoError(t, err)
	require.Equal(t, c, got)
	_, err = b.Check(b.ctx, "gone")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

// Two replicas that look at once: one of them is told to look again.
func testCheckConflict(t *testing.T, b *bundle) {
	c := newCheck("ci", 1)
	b.commit(storeChecks(c))
	b.refuse(sessions.ErrDuplicate, storeChecks(c))
	c.Revision, c.Looked, c.Value = 2, at(5), "7"
	b.commit(storeChecks(c))
	b.refuse(sessions.ErrConflict, storeChecks(c))
	got, err := b.Check(b.ctx, "ci")
	require.NoError(t, err)
	require.Equal(t, c, got)
}

func testPruneChecks(t *testing.T, b *bundle) {
	b.commit(storeChecks(newCheck("old", 1), newCheck("young", 60)))
	b.prune(ledger.PruneChecks, at(50), 1)
	_, err := b.Check(b.ctx, "old")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	_, err = b.Check(b.ctx, "young")
	require.NoError(t, err)
}
