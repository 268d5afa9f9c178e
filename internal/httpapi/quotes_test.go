package httpapi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// What was set for a session by who knew more than the caller may looks to the caller as if it was not set.
func TestSettingsAboveTheCallerAreLeftOut(t *testing.T) {
	t.Parallel()
	secret := flow.NewLabel(flow.Confidential, flow.Trusted)
	g := withMain()
	r := g.records[string(mainID)]
	r.Model, r.Title, r.Label = flow.NewText("far/secret", secret), flow.NewText("the merger", secret), flow.NewText("the deal", secret)
	g.records[string(mainID)], g.records[string(r.Key)] = r, r
	h := newServer(t, g, withTokens(auth.Credential{Name: "ops", Token: "ops", Level: flow.Internal, Role: auth.RoleOperator})).Handler()
	shown := call(h, "GET", "/v1/sessions/main", "", "Authorization: Bearer ops").Body.String()
	for _, text := range []string{"far/secret", "the merger", "the deal"} {
		require.NotContains(t, shown, text)
	}
	require.Contains(t, shown, `"model":"offline/guide"`)
	all := call(h, "GET", "/v1/sessions/main", "", "Authorization: Bearer "+token).Body.String()
	for _, text := range []string{"far/secret", "the merger", "the deal"} {
		require.Contains(t, all, text)
	}
}

// A reason is as secret as where it was typed, and shown to nobody below that.
func TestReasonsHaveALabel(t *testing.T) {
	t.Parallel()
	g := withMain()
	h := newServer(t, g, withTokens(auth.Credential{Name: "ops", Token: "ops", Level: flow.Internal, Role: auth.RoleOperator})).Handler()
	g.approvals = []ledger.Approval{{
		ID: "apr_1", Session: mainID, Label: flow.Bottom(), Status: ledger.ApprovalDenied, Reason: flow.NewText("the owner denied it: the merger", flow.Top()),
	}}
	seen := call(h, "GET", "/v1/approvals/apr_1", "", "Authorization: Bearer ops").Body.String()
	require.NotContains(t, seen, "merger")
	require.Contains(t, seen, "it is above your level and is not shown")
	require.Contains(t, call(h, "GET", "/v1/approvals/apr_1", "", "Authorization: Bearer "+token).Body.String(), "merger")
}

// What is typed on the page has the page's level: the name of a session, and why a call was denied.
func TestWhatIsTypedOnThePageHasItsLevel(t *testing.T) {
	t.Parallel()
	g := withMain()
	h := newServer(t, g, func(c *httpapi.Config) {
		c.SinkLevel = func(sessions.Route) flow.Level { return flow.Confidential }
	}).Handler()
	g.approvals = []ledger.Approval{{ID: "apr_1", Session: mainID, Label: flow.Bottom(), Status: ledger.ApprovalPending, Expires: clock.Add(time.Minute)}}
	for header, want := range map[string]flow.Level{"Sluice-Client: page": flow.Confidential, "Accept: */*": flow.Public} {
		require.Equal(t, 200, call(h, "PATCH", "/v1/sessions/main", `{"label":"the deal","title":"x","model":"a/b"}`, header).Code)
		p := g.patched[len(g.patched)-1]
		for _, text := range []*flow.Text{p.Label, p.Title, p.Model} {
			require.Equal(t, flow.NewLabel(want, flow.Trusted), text.Label())
		}
	}
	require.Equal(t, 200, call(h, "POST", "/v1/approvals/apr_1/deny", `{"reason":"the merger"}`, "Sluice-Client: page").Code)
	require.Equal(t, flow.NewLabel(flow.Confidential, flow.Trusted), g.approvals[0].Reason.Label())
}
