package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Commit keeps what is added to the audit trail.
func (g *gateway) Commit(_ context.Context, c ledger.Change) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down != nil {
		return g.down
	}
	g.commits++
	g.audit = append(g.audit, c.Audit...)
	return nil
}

// trail is what has been added to the audit trail.
func (g *gateway) trail() []sessions.AuditEntry {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.audit)
}

// breakStore makes every commit fail with err; nil mends it.
func (g *gateway) breakStore(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down = err
}

// nobodyCalls is a listener to which nobody connects.
type nobodyCalls struct{ closed chan struct{} }

func (l nobodyCalls) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

func (l nobodyCalls) Close() error {
	close(l.closed)
	return nil
}

func (nobodyCalls) Addr() net.Addr { return &net.TCPAddr{} }

// denying is a server that has begun, before a gateway with a hidden session, and with three more tokens.
func denying(t *testing.T, settings ...func(*httpapi.Config)) (*gateway, *httpapi.Server) {
	t.Helper()
	g := newGateway()
	r := g.add(sessions.Record{ID: "sess_000000000001", Key: "agent:main:secret", Agent: "main"})
	r.Taint = flow.NewLabel(flow.Confidential, flow.Trusted)
	g.records[string(r.ID)], g.records[string(r.Key)] = r, r
	settings = append(settings, func(c *httpapi.Config) { c.Now = time.Now }, withTokens(
		auth.Credential{Name: "ops", Token: "low", Level: flow.Internal, Role: auth.RoleOperator},
		auth.Credential{Name: "board", Token: "look", Level: flow.Internal, Role: auth.RoleViewer},
	))
	s := newServer(t, g, settings...)
	s.Start(nobodyCalls{make(chan struct{})})
	return g, s
}

// entry is an entry of the audit trail as text.
func entry(t *testing.T, e sessions.AuditEntry) string {
	t.Helper()
	require.Equal(t, "http.denied", e.Action)
	raw, err := json.Marshal(e.Detail)
	require.NoError(t, err)
	var d struct {
		Kind, Operation, Reason, Level, Role string
		Count                                int
	}
	require.NoError(t, json.Unmarshal(raw, &d))
	return fmt.Sprintf("%s %s %q %s: %s, %s (%s %s) %d", e.Actor, d.Kind, e.Object, e.Label, d.Operation, d.Reason, d.Level, d.Role, d.Count)
}

// What a caller was told is not there, or is not theirs, is said to the operator, once a minute.
func TestDenialsAreSaidToTheOperator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, s := denying(t)
		begun := time.Now()
		ask := func(token, method, path string) int {
			time.Sleep(time.Millisecond) // the test's own time
			return call(s.Handler(), method, path, "", "Authorization: "+token).Code
		}
		require.Equal(t, 404, ask("Bearer low", "GET", "/v1/sessions/sess_000000000001"))
		require.Equal(t, 404, ask("Bearer low", "GET", "/v1/sessions/agent:main:secret"))
		require.Equal(t, 404, ask("Bearer low", "GET", "/v1/sessions/sess_00000000dead"), "this was never there")
		require.Equal(t, 403, ask("Bearer look", "DELETE", "/v1/sessions/sess_00000000dead"))
		require.Equal(t, 403, ask("Bearer look", "GET", "/v1/pairings"))
		require.Equal(t, 403, ask("Bearer low", "GET", "/metrics"))
		require.Equal(t, 401, ask("Bearer guessed-secret", "GET", "/v1/sessions"))
		require.Equal(t, 401, ask("Bearer another-guess", "GET", "/v1/runs"))
		require.Equal(t, 401, ask("", "GET", "/v1/sessions"), "this tries none")
		require.Equal(t, 200, ask("Bearer "+token, "GET", "/v1/sessions/sess_000000000001"))
		synctest.Wait()
		require.Empty(t, g.trail(), "what is committed at once can be noticed")
		time.Sleep(time.Until(begun.Add(time.Minute)))
		synctest.Wait()
		var got []string
		for _, e := range g.trail() {
			got = append(got, entry(t, e))
			require.NotContains(t, fmt.Sprintf("%+v", e), "guess")
		}
		require.Equal(t, []string{
			`token:ops session "sess_000000000001" CONFIDENTIAL/trusted: GET /v1/sessions/{id}, above the caller's level (INTERNAL operator) 2`,
			`token:board path "/v1/sessions/sess_00000000dead" RESTRICTED/untrusted: DELETE /v1/sessions/sess_00000000dead, the caller's role, its level or a rule forbids it (INTERNAL viewer) 1`,
			`token:board path "/v1/pairings" RESTRICTED/untrusted: GET /v1/pairings, the caller's role, its level or a rule forbids it (INTERNAL viewer) 1`,
			`token:ops path "/metrics" RESTRICTED/untrusted: GET /metrics, the caller's role, its level or a rule forbids it (INTERNAL operator) 1`,
			`unknown token "192.0.2.1" RESTRICTED/untrusted: GET /v1/sessions, unknown token ( ) 2`,
		}, got)
		require.Equal(t, sessions.ID("sess_000000000001"), g.trail()[0].Session)
		g.mu.Lock()
		require.Equal(t, 1, g.commits, "they are one commit")
		g.mu.Unlock()

		ask("Bearer low", "GET", "/v1/sessions/sess_000000000001")
		require.NoError(t, s.Stop(t.Context()))
		require.Len(t, g.trail(), 6, "what is left is stored at the end")
	})
}

// An answer that its own asker is not shown is said to the operator, with why.
func TestWithheldAnswersAreSaidToTheOperator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, s := denying(t)
		g.add(sessions.Record{ID: "sess_000000000002", Key: "agent:main:main", Agent: "main"})
		for id, run := range map[sessions.RunID]sessions.Run{
			"run_1": {Reply: "secret", Label: flow.NewLabel(flow.Restricted, flow.Trusted)},
			"run_2": {Reply: "forbidden", Label: flow.Bottom()},
		} {
			run.ID, run.Session, run.Status = id, "sess_000000000002", sessions.RunDone
			g.runs[id] = run
			g.admitted = inbound.Admitted{Outcome: ledger.OutcomeRun, Run: id}
			w := call(s.Handler(), "POST", "/v1/sessions/main/messages", `{"message":"hi"}`, "Authorization: Bearer low", "Accept: application/json")
			require.Equal(t, 200, w.Code, w.Body)
			require.NotContains(t, w.Body.String(), "secret")
		}
		require.NoError(t, s.Stop(t.Context()))
		var got []string
		for _, e := range g.trail() {
			got = append(got, entry(t, e))
		}
		require.ElementsMatch(t, []string{
			`token:ops answer "run_1" RESTRICTED/trusted: POST /v1/sessions/{id}/messages, above the caller's level (INTERNAL operator) 1`,
			`token:ops answer "run_2" PUBLIC/trusted: POST /v1/sessions/{id}/messages, withheld by the gate (INTERNAL operator) 1`,
		}, got)
	})
}

// However much is denied, what waits is bounded, nobody is kept waiting, and what is lost is counted.
func TestDenialsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry, said := prometheus.NewRegistry(), &bytes.Buffer{}
		g, s := denying(t, func(c *httpapi.Config) {
			c.Registerer, c.Log = registry, slog.New(slog.NewTextHandler(said, nil))
		})
		for i := range 500 {
			call(s.Handler(), "POST", fmt.Sprintf("/v1/%d", i), "", "Authorization: Bearer look")
			synctest.Wait()
		}
		call(s.Handler(), "GET", "/v1/sessions/agent:main:secret", "", "Authorization: Bearer low")
		g.breakStore(errors.New("the disk is full"))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, strings.Count(said.String(), "cannot store denials in the audit trail; trying again within a minute"))
		g.breakStore(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, g.trail(), 64+1+1, "of the reader so many, the rest together, and the other's own")
		counted := 0
		for _, e := range g.trail() {
			if e.Actor == "token:board" {
				var d struct{ Count int }
				raw, err := json.Marshal(e.Detail)
				require.NoError(t, err)
				require.NoError(t, json.Unmarshal(raw, &d))
				counted += d.Count
			}
		}
		require.Equal(t, 500, counted, "none is lost")

		// Nobody takes them any more: the queue fills, and requests go on.
		require.NoError(t, s.Stop(t.Context()))
		for range 1024 + 10 {
			require.Equal(t, http.StatusForbidden, call(s.Handler(), "POST", "/v1/x", "", "Authorization: Bearer look").Code)
		}
		require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP sluice_http_denials_dropped_total Denials missing from the audit trail because there were too many at once or the store failed at the end.
# TYPE sluice_http_denials_dropped_total counter
sluice_http_denials_dropped_total 10
`), "sluice_http_denials_dropped_total"))
	})
}

// What can't be stored at the end is counted, and one line says so.
func TestDenialsThatAreLostAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		said := &bytes.Buffer{}
		g, s := denying(t, func(c *httpapi.Config) { c.Log = slog.New(slog.NewTextHandler(said, nil)) })
		g.breakStore(errors.New("the disk is full"))
		for range 3 {
			call(s.Handler(), "GET", "/v1/sessions/agent:main:secret", "", "Authorization: Bearer low")
		}
		require.NoError(t, s.Stop(t.Context()))
		require.Equal(t, 1, strings.Count(said.String(), "dropped=3"), said)
	})
}
