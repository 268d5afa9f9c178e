package storetest

import (
	"encoding/json"
	"strconv"
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
	two.Args, two.Delivery, two.Channel = nil, "dlv_2", "slack"
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

// Pending approvals are read soonest to expire first, page by page, even if one of them is decided meanwhile. Decided ones
// are read newest first.
func testInbox(t *testing.T, b *bundle) {
	var asked []ledger.Approval
	for i, expires := range []int{50, 20, 40, 20, 90, 30} {
		p := newApproval(ledger.ApprovalID("apr_"+strconv.Itoa(i)), "", "run_1", i)
		p.Channel, p.Expires, p.Label = []string{"telegram", "slack"}[i%2], at(expires), flow.Bottom()
		if i == 4 {
			p.Label = secret
		}
		asked = append(asked, p)
	}
	b.commit(ledger.Change{Ask: asked})
	list := func(q ledger.Query) (ids []string) {
		found, err := b.ListApprovals(b.ctx, q)
		n, counted := b.CountApprovalsOf(b.ctx, q, 100)
		require.NoError(t, counted)
		if q.After == "" && q.Limit == 0 {
			require.Equal(t, len(found), n)
		}
		return idsOf(t, found, err, func(p ledger.Approval) string { return string(p.ID) })
	}
	waiting := ledger.Query{MaxLevel: flow.Restricted, Status: string(ledger.ApprovalPending)}
	with := func(change func(*ledger.Query)) ledger.Query {
		q := waiting
		change(&q)
		return q
	}
	require.Equal(t, []string{"apr_1", "apr_3", "apr_5", "apr_2", "apr_0", "apr_4"}, list(waiting))
	require.Equal(t, []string{"apr_1", "apr_3", "apr_5"}, list(with(func(q *ledger.Query) { q.Channel = "slack" })))
	require.Empty(t, list(with(func(q *ledger.Query) { q.Channel = "discord" })))
	require.Equal(t, []string{"apr_5", "apr_2", "apr_0", "apr_4"}, list(with(func(q *ledger.Query) { q.Unexpired = at(20) })))
	require.Equal(t, []string{"apr_3", "apr_5"}, list(with(func(q *ledger.Query) { q.After, q.Limit = "apr_1", 2 })), "equal times are in the order of their ids")
	require.Equal(t, []string{"apr_2", "apr_0"}, list(with(func(q *ledger.Query) { q.After, q.MaxLevel = "apr_5", flow.Public })))
	require.Empty(t, list(with(func(q *ledger.Query) { q.After, q.MaxLevel = "apr_4", flow.Public })), "what the reader may not know of is unknown")

	for _, n := range []int{5, 2} {
		b.commit(ledger.Change{Approvals: []ledger.ApprovalMove{asked[n].Move(ledger.ApprovalDenied, ledger.GatewaySays("no"), "operator", at(60))}})
	}
	require.Equal(t, []string{"apr_0", "apr_4"}, list(with(func(q *ledger.Query) { q.After = "apr_5" })), "the page begins where the last one ended")
	require.Equal(t, []string{"apr_5", "apr_2"}, list(ledger.Query{MaxLevel: flow.Restricted, Status: string(ledger.ApprovalDenied)}))
	require.Equal(t, []string{"apr_5", "apr_3", "apr_1"}, list(ledger.Query{MaxLevel: flow.Restricted, Channel: "slack"}))
	require.Equal(t, []string{"apr_3", "apr_2"}, list(ledger.Query{MaxLevel: flow.Restricted, After: "apr_4", Limit: 2}))
}
