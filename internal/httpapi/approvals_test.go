package httpapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/policy/flow"
	"sluice/router"
	"sluice/sessions"
)

func (g *gateway) ListApprovals(_ context.Context, q router.Query) ([]router.Approval, error) {
	var found []router.Approval
	for _, p := range g.approvals {
		if q.Status == "" || string(p.Status) == q.Status {
			found = append(found, p)
		}
	}
	return found, g.fail
}

func (g *gateway) Approval(_ context.Context, id router.ApprovalID) (router.Approval, error) {
	for _, p := range g.approvals {
		if p.ID == id {
			return p, nil
		}
	}
	return router.Approval{}, sessions.ErrNotFound
}

func (g *gateway) DecideApproval(_ context.Context, id router.ApprovalID, v router.Verdict) (router.Approval, error) {
	for i := range g.approvals {
		p := &g.approvals[i]
		if p.ID != id {
			continue
		}
		if len(p.Terms.Approvers) > 0 {
			return *p, &router.NotApproverError{Actor: v.Actor, Terms: p.Terms}
		}
		if p.Status != router.ApprovalPending {
			return *p, &router.RequestError{Field: "id", Text: string(id) + " is " + string(p.Status) + " already"}
		}
		p.Status, p.Reason, p.By, p.Decided = router.ApprovalDenied, v.Reason, v.Actor, clock
		if v.Allow {
			p.Status = router.ApprovalAllowed
		}
		return *p, nil
	}
	return router.Approval{}, sessions.ErrNotFound
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	g := newGateway()
	pending := router.Approval{
		ID: "apr_1", Session: "sess_1", Run: "run_1", Agent: "main", Tool: "exec", Args: []byte(`{"command":"ls"}`), Label: flow.Bottom(),
		Status: router.ApprovalPending, Created: clock, Expires: clock.Add(10 * time.Minute),
	}
	other := pending
	other.ID, other.Args = "apr_2", []byte("no JSON")
	others := pending
	others.ID, others.Terms = "apr_4", sessions.Terms{Approvers: [][]string{{"telegram:1001"}, nil}, Lapse: true, Rules: []string{"policy.rules.ask"}}
	g.approvals = []router.Approval{pending, other, others}
	h := newServer(t, g, withTokens(httpapi.Credential{Name: "low", Token: "low", Level: flow.Public, Role: httpapi.RoleReader})).Handler()
	w := call(h, "GET", "/v1/approvals/apr_4", "")
	require.Equal(t, 200, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"rules":["policy.rules.ask"],"approvers":[["telegram:1001"],[]],"on_timeout":"allow"`)
	require.Contains(t, call(h, "GET", "/v1/approvals/apr_1", "").Body.String(), `"on_timeout":"block"`)
	missing, hidden := call(h, "GET", "/v1/approvals/apr_3", "", "Authorization: Bearer low"), call(h, "GET", "/v1/approvals/apr_1", "", "Authorization: Bearer low")
	require.Equal(t, 404, hidden.Code, "its session is not there, so that nobody knows of what level it is")
	require.Equal(t, missing.Body.String(), hidden.Body.String())
	w = call(h, "GET", "/v1/approvals", "")
	require.Equal(t, 200, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"id":"apr_1","session":"sess_1","run":"run_1","agent":"main","tool":"exec","args":{"command":"ls"}`)
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
	require.JSONEq(t, `{"error":"forbidden","message":"operator may not decide about this: it is left to telegram:1001; and of these only to the owners (approvers of policy.rules)"}`, w.Body.String())
	require.Contains(t, call(h, "GET", "/v1/approvals?status=all", "").Body.String(), "apr_2")
	require.Equal(t, 422, call(h, "GET", "/v1/approvals?status=some", "").Code)
}
