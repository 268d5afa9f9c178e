package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

func (g *gateway) ListApprovals(_ context.Context, q ledger.Query) ([]ledger.Approval, error) {
	var found []ledger.Approval
	for _, p := range g.approvals {
		if (q.Status == "" || string(p.Status) == q.Status) && (q.Channel == "" || p.Channel == q.Channel) && (q.Kind == "" || (q.Kind == ledger.AskMessage) == (p.Delivery != "")) {
			found = append(found, p)
		}
	}
	return found, g.fail
}

func (g *gateway) Approval(_ context.Context, id ledger.ApprovalID) (ledger.Approval, error) {
	for _, p := range g.approvals {
		if p.ID == id {
			return p, nil
		}
	}
	return ledger.Approval{}, sessions.ErrNotFound
}

func (g *gateway) DecideApproval(_ context.Context, id ledger.ApprovalID, v decider.Verdict) (ledger.Approval, error) {
	g.verdicts = append(g.verdicts, v)
	for i := range g.approvals {
		p := &g.approvals[i]
		if p.ID != id {
			continue
		}
		if len(p.Terms.Approvers) > 0 {
			return *p, &decider.NotApproverError{Actor: v.Actor, Terms: p.Terms}
		}
		if p.Status != ledger.ApprovalPending {
			return *p, &request.Error{Field: "id", Text: string(id) + " is " + string(p.Status) + " already"}
		}
		p.Status, p.Reason, p.By, p.Decided = ledger.ApprovalDenied, v.Reason, v.Actor, clock
		if v.Allow {
			p.Status = ledger.ApprovalAllowed
		}
		return *p, nil
	}
	return ledger.Approval{}, sessions.ErrNotFound
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	g := newGateway()
	pending := ledger.Approval{
		ID: "apr_1", Session: "sess_1", Run: "run_1", Agent: "main", Tool: "exec", Args: []byte(`{"command":"ls"}`), Label: flow.Bottom(),
		Status: ledger.ApprovalPending, Created: clock, Expires: clock.Add(10 * time.Minute), Channel: "telegram",
	}
	other := pending
	other.ID, other.Args = "apr_2", []byte("no JSON")
	others := pending
	others.ID, others.Terms = "apr_4", sessions.Terms{Approvers: [][]string{{"telegram:1001"}, nil}, AllowOnTimeout: true, Rules: []string{"policy.rules.ask"}}
	g.approvals = []ledger.Approval{pending, other, others}
	h := newServer(t, g, withTokens(auth.Credential{Name: "low", Token: "low", Level: flow.Public, Role: auth.RoleViewer})).Handler()
	w := call(h, "GET", "/v1/approvals/apr_4", "")
	require.Equal(t, 200, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"rules":["policy.rules.ask"],"approvers":[["telegram:1001"],[]],"on_timeout":"allow"`)
	require.Contains(t, call(h, "GET", "/v1/approvals/apr_1", "").Body.String(), `"on_timeout":"block"`)
	missing, hidden := call(h, "GET", "/v1/approvals/apr_3", "", "Authorization: Bearer low"), call(h, "GET", "/v1/approvals/apr_1", "", "Authorization: Bearer low")
	require.Equal(t, 404, hidden.Code, "its session is not there, so that nobody knows of what level it is")
	require.Equal(t, missing.Body.String(), hidden.Body.String())
	w = call(h, "GET", "/v1/approvals", "")
	require.Equal(t, 200, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"id":"apr_1","session":"sess_1","run":"run_1","agent":"main","channel":"telegram","tool":"exec","args":{"command":"ls"}`)
	require.Contains(t, call(h, "GET", "/v1/approvals?kind=call", "").Body.String(), "apr_1")
	require.NotContains(t, call(h, "GET", "/v1/approvals?kind=message", "").Body.String(), "apr_1")
	require.Equal(t, 422, call(h, "GET", "/v1/approvals?kind=some", "").Code)
	require.Contains(t, call(h, "GET", "/v1/approvals?channel=telegram", "").Body.String(), `"channel":"telegram"`)
	require.NotContains(t, call(h, "GET", "/v1/approvals?channel=slack", "").Body.String(), "apr_")
	w = call(h, "POST", "/v1/approvals/apr_1/allow", "")
	require.Equal(t, 200, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"status":"allowed","by":"operator"`)
	w = call(h, "POST", "/v1/approvals/apr_2/deny", `{"reason":"not today"}`)
	require.Contains(t, w.Body.String(), `"status":"denied","reason":"not today"`)
	require.Equal(t, 400, call(h, "POST", "/v1/approvals/apr_2/allow", "").Code)
	require.Equal(t, 404, call(h, "POST", "/v1/approvals/apr_3/allow", "").Code)
	require.NotContains(t, call(h, "GET", "/v1/approvals", "").Body.String(), "apr_1")
	w = call(h, "POST", "/v1/approvals/apr_4/allow", "")
	require.Equal(t, 403, w.Code)
	require.JSONEq(t, `{"error":"forbidden","message":"operator may not decide about this: the decision is left to telegram:1001; and of these only to the owners (approvers of policy.rules)"}`, w.Body.String())
	require.Contains(t, call(h, "GET", "/v1/approvals?status=all", "").Body.String(), "apr_2")
	require.Equal(t, 422, call(h, "GET", "/v1/approvals?status=some", "").Code)
}

// The bearer of a named token decides with its own right, and is named where the decision is.
func TestATokenDecidesWithItsOwnRight(t *testing.T) {
	t.Parallel()
	g := newGateway()
	g.add(sessions.Record{ID: "sess_000000000001", Key: "agent:main:main", Agent: "main"})
	g.approvals = []ledger.Approval{{ID: "apr_1", Session: "sess_000000000001", Tool: "exec", Label: flow.Bottom(), Status: ledger.ApprovalPending, Created: clock, Expires: clock.Add(time.Minute)}}
	h := newServer(t, g, withTokens(auth.Credential{Name: "ops", Token: "do", Level: flow.Public, Role: auth.RoleOperator})).Handler()
	require.Equal(t, 200, call(h, "POST", "/v1/approvals/apr_1/deny", "", "Authorization: Bearer do").Code)
	require.Len(t, g.verdicts, 1)
	require.False(t, g.verdicts[0].Owner, "a named token counts as an owner")
	require.Equal(t, "token:ops", g.verdicts[0].Actor)
	require.Equal(t, &decider.Token{Principal: "webchat:token:ops", Level: flow.Public, Operator: true}, g.verdicts[0].Token)
	require.Equal(t, 400, call(h, "POST", "/v1/approvals/apr_1/allow", "").Code)
	require.True(t, g.verdicts[1].Owner, "the gateway's own token stands for an owner")
	require.Nil(t, g.verdicts[1].Token)

	require.Equal(t, 200, call(h, "POST", "/v1/sessions/main/messages", `{"message":"/approve apr_1 allow"}`, "Authorization: Bearer do", "Accept: application/json").Code)
	require.Equal(t, g.verdicts[0].Token, g.asked[0].Token, "what is typed has the token's right, too")
	w := call(h, "PATCH", "/v1/sessions/main", `{"sendPolicy":"allow"}`, "Authorization: Bearer do")
	require.Equal(t, 403, w.Code, w.Body)
	require.Contains(t, w.Body.String(), "send_policy: only the owner sets it")
	require.Equal(t, 200, call(h, "PATCH", "/v1/sessions/main", `{"sendPolicy":"allow"}`).Code)
}

// The router receives the name and the right of the caller who stops a run or discards a message.
func TestATokenStopsAndDiscardsAsItself(t *testing.T) {
	t.Parallel()
	g := newGateway()
	g.add(sessions.Record{ID: "sess_000000000001", Key: "agent:main:main", Agent: "main"})
	g.runs["run_1"] = sessions.Run{ID: "run_1", Session: "sess_000000000001", Status: sessions.RunRunning, Label: flow.Bottom()}
	g.sent = []ledger.Delivery{{ID: "dlv_1", Session: "sess_000000000001", Status: ledger.DeliveryHeld, Label: flow.Bottom()}}
	h := newServer(t, g, withTokens(auth.Credential{Name: "ops", Token: "do", Level: flow.Public, Role: auth.RoleOperator})).Handler()
	require.Equal(t, 202, call(h, "POST", "/v1/sessions/main/runs/run_1/cancel", "", "Authorization: Bearer do").Code)
	require.Equal(t, []string{"token:ops"}, g.enders)
	require.Equal(t, 200, call(h, "POST", "/v1/deliveries/dlv_1/discard", "", "Authorization: Bearer do").Code)
	require.False(t, g.verdicts[0].Owner)
	require.Equal(t, "token:ops", g.verdicts[0].Actor)
	require.NotNil(t, g.verdicts[0].Token)
}

// Admitting somebody to the main session is for who may see all that it may know.
func TestATokenAdmitsNobodyToASharedMainSession(t *testing.T) {
	t.Parallel()
	g := newGateway()
	g.shared, g.pairings = "they share the main session", []ledger.Pairing{{Channel: "telegram", Account: "default", Code: "ABCDEFGH"}}
	ops := withTokens(auth.Credential{Name: "ops", Token: "do", Level: flow.Internal, Role: auth.RoleOperator})
	for level, status := range map[flow.Level]int{flow.Internal: 403, flow.Confidential: 404} {
		h := newServer(t, g, ops, func(c *httpapi.Config) { c.SinkLevel = func(sessions.Route) flow.Level { return level } }).Handler()
		w := call(h, "POST", "/v1/pairings/ABCDEFGH/approve", "", "Authorization: Bearer do")
		require.Equal(t, status, w.Code, "%s: %s", level, w.Body)
		require.Equal(t, status == 403, strings.Contains(w.Body.String(), "session.dmScope"), level)
		require.Equal(t, 404, call(h, "POST", "/v1/pairings/ZZZZZZZZ/approve", "", "Authorization: Bearer do").Code, "one that is not there is not there")
	}
}
