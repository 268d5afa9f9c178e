package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// trail is a gateway with an audit trail that keeps what it was asked.
type trail struct {
	*gateway
	queries []ledger.AuditQuery
	kept    []ledger.AuditHead
	report  ledger.AuditReport
}

func (a *trail) ListAudit(_ context.Context, q ledger.AuditQuery) ([]ledger.AuditRecord, error) {
	a.queries = append(a.queries, q)
	entry := sessions.AuditEntry{At: clock, Actor: "gateway", Action: "delivery.block", Object: "dlv_1", Label: flow.Bottom()}
	return []ledger.AuditRecord{{AuditEntry: entry, ID: "1-ab", Place: ledger.AuditHead{Chain: 2, Seq: 7, Hash: "abc"}}}, a.fail
}

func (a *trail) VerifyAudit(_ context.Context, kept []ledger.AuditHead) (ledger.AuditReport, error) {
	a.kept = kept
	return a.report, a.fail
}

func serveTrail(t *testing.T) (*trail, http.Handler) {
	t.Helper()
	a := &trail{gateway: newGateway()}
	a.add(sessions.Record{ID: "sess_000000000001", Key: "agent:main:main"})
	return a, newServer(t, a.gateway, func(c *httpapi.Config) {
		c.Rows.Audit, c.Rows.Sessions = a, a
		c.Access.Tokens = append(c.Access.Tokens, auth.Credential{Name: "low", Token: "low", Level: flow.Internal, Role: auth.RoleViewer})
	}).Handler()
}

const low = "Authorization: Bearer low"

func TestAuditIsListed(t *testing.T) {
	t.Parallel()
	a, h := serveTrail(t)
	w := call(h, "GET", "/v1/audit?action=delivery.block&actor=gateway&session=agent:main:main&since=2026-04-26T18:00:00Z&until=2026-04-27T18:00:00Z&object=dlv_1&level=CONFIDENTIAL&limit=7&after=1-aa", "")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"id":"1-ab"`)
	require.Contains(t, w.Body.String(), `"place":{"chain":2,"seq":7,"hash":"abc"}`)
	w = call(h, "GET", "/v1/audit", "", low)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.NotContains(t, w.Body.String(), "place", "its numbers count what is hidden")
	for i := range a.queries {
		require.NotNil(t, a.queries[i].Bound, "the list is bounded in bytes")
		a.queries[i].Bound = nil
	}
	require.Equal(t, []ledger.AuditQuery{
		{
			Action: "delivery.block", Actor: "gateway", Session: "sess_000000000001", Since: time.Date(2026, 4, 26, 18, 0, 0, 0, time.UTC),
			Until: time.Date(2026, 4, 27, 18, 0, 0, 0, time.UTC), Object: "dlv_1", Level: flow.Confidential, MaxLevel: flow.Restricted, Limit: 7, After: "1-aa",
		},
		{MaxLevel: flow.Internal, Limit: 50},
	}, a.queries)
	require.Equal(t, http.StatusUnprocessableEntity, call(h, "GET", "/v1/audit?since=yesterday", "").Code)
	require.Equal(t, http.StatusUnprocessableEntity, call(h, "GET", "/v1/audit?level=SECRET", "").Code)
}

func TestAuditIsVerified(t *testing.T) {
	t.Parallel()
	a, h := serveTrail(t)
	hash := strings.Repeat("0af", 22)[:64]
	a.report = ledger.AuditReport{Entries: 9, Heads: []ledger.AuditHead{{Seq: 9, Hash: hash}}}
	w := call(h, "GET", "/v1/audit/verify?head=0:3:"+hash+"&head=1:2:"+hash, "")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.JSONEq(t, `{"ok":true,"entries":9,"heads":["0:9:`+hash+`"],"faults":[]}`, w.Body.String())
	require.Equal(t, []ledger.AuditHead{{Chain: 0, Seq: 3, Hash: hash}, {Chain: 1, Seq: 2, Hash: hash}}, a.kept)

	a.report.Faults = []ledger.AuditFault{{Chain: 1, Seq: 4, Kind: ledger.AuditMissing, Text: "it is missing"}}
	w = call(h, "GET", "/v1/audit/verify", "")
	require.Contains(t, w.Body.String(), `"ok":false`)
	require.Contains(t, w.Body.String(), `"faults":[{"chain":1,"seq":4,"kind":"missing","text":"it is missing"}]`)

	require.Equal(t, http.StatusForbidden, call(h, "GET", "/v1/audit/verify", "", low).Code)
	for _, head := range []string{"x", "0:1", "0:0:" + hash, "-1:1:" + hash, "0:1:" + hash[1:], "0:1:" + strings.ToUpper(hash), "a:1:" + hash} {
		w := call(h, "GET", "/v1/audit/verify?head="+head, "")
		require.Equal(t, http.StatusBadRequest, w.Code, head)
		require.Contains(t, w.Body.String(), "CHAIN:SEQ:HASH")
	}
}
