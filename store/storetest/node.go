package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func newNode(id string, created int) ledger.Node {
	return ledger.Node{
		ID: id, Revision: 1, Status: ledger.NodePending, Code: "C" + id, Token: "hash-" + id, Label: secret,
		NodeDetail: ledger.NodeDetail{Name: "Ünit\x00", Platform: "linux", Actor: "owner"}, Created: at(created), Expires: at(created + 60), Changed: at(created),
	}
}

func storeNodes(n ...ledger.Node) ledger.Change { return ledger.Change{Nodes: n} }

func testNodeRoundTrip(t *testing.T, b *bundle) {
	n := newNode("a", 1)
	b.commit(storeNodes(n, newNode("b", 2)))
	got, err := b.Node(b.ctx, "a")
	require.NoError(t, err)
	require.Equal(t, n, got)
	got, err = b.NodeByToken(b.ctx, "hash-a")
	require.NoError(t, err)
	require.Equal(t, n, got)
	_, err = b.Node(b.ctx, "hash-a")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	_, err = b.NodeByToken(b.ctx, "")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

func testNodeConflict(t *testing.T, b *bundle) {
	n := newNode("a", 1)
	b.commit(storeNodes(n))
	b.refuse(sessions.ErrDuplicate, storeNodes(n))
	same := newNode("b", 1)
	same.Token = n.Token
	b.refuse(sessions.ErrDuplicate, storeNodes(same))
	n.Revision, n.Status, n.Code, n.Label, n.Actor, n.Changed = 2, ledger.NodeApproved, "", flow.Bottom(), "somebody", at(5)
	b.commit(storeNodes(n))
	b.refuse(sessions.ErrConflict, storeNodes(n))
	got, err := b.Node(b.ctx, "a")
	require.NoError(t, err)
	require.Equal(t, n, got)
}

func testNodeList(t *testing.T, b *bundle) {
	low, high, approved := newNode("low", 1), newNode("high", 2), newNode("approved", 3)
	low.Label, approved.Label, approved.Status = flow.Bottom(), flow.Bottom(), ledger.NodeApproved
	b.commit(storeNodes(approved, high, low))
	list := func(q ledger.NodeQuery) (ids []string) {
		got, err := b.ListNodes(b.ctx, q)
		require.NoError(t, err)
		for _, n := range got {
			ids = append(ids, n.ID)
		}
		return ids
	}
	require.Equal(t, []string{"low", "high", "approved"}, list(ledger.NodeQuery{MaxLevel: flow.Restricted}))
	require.Equal(t, []string{"low", "approved"}, list(ledger.NodeQuery{MaxLevel: flow.Public}))
	require.Equal(t, []string{"approved"}, list(ledger.NodeQuery{Status: ledger.NodeApproved, MaxLevel: flow.Restricted}))
	require.Equal(t, []string{"low"}, list(ledger.NodeQuery{MaxLevel: flow.Restricted, Limit: 1}))
}

func testPruneNodes(t *testing.T, b *bundle) {
	old, young, approved := newNode("old", 1), newNode("young", 60), newNode("approved", 1)
	approved.Status = ledger.NodeApproved
	b.commit(storeNodes(old, young, approved))
	b.prune(ledger.PruneNodes, at(50), 1)
	_, err := b.Node(b.ctx, "old")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	for _, id := range []string{"young", "approved"} {
		_, err = b.Node(b.ctx, id)
		require.NoError(t, err)
	}
}
