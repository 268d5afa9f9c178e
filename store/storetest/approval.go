package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func newApproval(id ledger.ApprovalID, session sessions.ID, run sessions.RunID, n int) ledger.Approval {
	return ledger.Approval{
		ID: id, Session: session, Run: run, Agent: "main", CallID: "call_1", Tool: "exec", Args: json.RawMessage(`{"command":"rm ünï"}`),
		Label: secret, Status: ledger.ApprovalPending, Created: at(n), Expires: at(n).Add(10 * time.Minute),
	}
}

func (b *bundle) approval(id ledger.ApprovalID) ledger.Approval {
	b.t.Helper()
	p, err := b.Approval(b.ctx, id)
	require.NoError(b.t, err)
	return p
}

func testApprovals(t *testing.T, b *bundle) {
	one, two := newApproval("apr_1", "sess_1", "run_1", 1), newApproval("apr_2", "sess_2", "run_2", 2)
	two.Args, two.Delivery = nil, "dlv_2"
	b.commit(ledger.Change{Ask: []ledger.Approval{one, two}})
	require.Equal(t, one, b.approval("apr_1"))
	require.Equal(t, two, b.approval("apr_2"))
	_, err := b.Approval(b.ctx, "apr_3")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	require.ErrorIs(t, b.Commit(b.ctx, ledger.Change{Ask: []ledger.Approval{one}}), sessions.ErrDuplicate)

	decided := one
	decided.Status, decided.Reason, decided.By, decided.Decided = ledger.ApprovalDenied, flow.NewText("no", flow.Top()), "telegram:1001", at(3)
	move := ledger.Change{Approvals: []ledger.ApprovalMove{{From: ledger.ApprovalPending, Approval: decided}}}
	b.commit(move)
	require.Equal(t, decided, b.approval("apr_1"))
	require.ErrorIs(t, b.Commit(b.ctx, move), sessions.ErrConflict, "it is decided once")

	list := func(q ledger.Query) []ledger.Approval {
		got, err := b.ListApprovals(b.ctx, q)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, []ledger.Approval{two, decided}, list(ledger.Query{MaxLevel: flow.Restricted}))
	require.Equal(t, []ledger.Approval{two}, list(ledger.Query{MaxLevel: flow.Restricted, Status: "pending"}))
	require.Equal(t, []ledger.Approval{decided}, list(ledger.Query{MaxLevel: flow.Restricted, Session: "sess_1"}))
	require.Equal(t, []ledger.Approval{two}, list(ledger.Query{MaxLevel: flow.Restricted, Limit: 1}))
	kind := func(kind string) ledger.Query {
		return ledger.Query{MaxLevel: flow.Restricted, QueryFilter: ledger.QueryFilter{Kind: kind}}
	}
	require.Equal(t, []ledger.Approval{decided}, list(kind(ledger.AskCall)))
	require.Equal(t, []ledger.Approval{two}, list(kind(ledger.AskMessage)))

	b.commit(ledger.Change{DenyPending: []ledger.PendingDenial{{Run: "run_1", Reason: "ended", At: at(4)}, {Run: "run_2", Reason: "ended", At: at(4)}}})
	require.Equal(t, decided, b.approval("apr_1"), "what is decided stays so")
	two.Status, two.Reason, two.By, two.Decided = ledger.ApprovalDenied, flow.NewText("ended", flow.Bottom()), "gateway", at(4)
	require.Equal(t, two, b.approval("apr_2"))
}
