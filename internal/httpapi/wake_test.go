package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/inbound"
	"sluice/router/jobs"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// A wake is the message that the same caller would send, and its answer does not wait for the run.
func TestWakeIsAMessage(t *testing.T) {
	t.Parallel()
	g := withMain()
	g.admitted = inbound.Admitted{Outcome: ledger.OutcomeRun, Run: "run_1"} // a run that never ends
	h := newServer(t, g, withTokens(auth.Credential{Name: "ops", Token: "ops", Level: flow.Internal, Role: auth.RoleOperator})).Handler()
	for _, bearer := range []string{token, "ops"} {
		who := "Authorization: Bearer " + bearer
		w := call(h, "POST", "/v1/wake", `{"text":"look","id":"w1","label":"INTERNAL"}`, who)
		require.Equal(t, http.StatusAccepted, w.Code, w.Body)
		require.JSONEq(t, `{"session":"`+string(mainID)+`","id":"w1","mode":"now","run_id":"run_1"}`, w.Body.String())
		g.admitted.Notice = "Done."
		g.admitted.Run, g.admitted.Outcome = "", ledger.OutcomeCommand
		call(h, "POST", "/v1/sessions/main/messages", `{"message":"look","id":"w1","label":"INTERNAL"}`, who, "Accept: application/json")
		g.admitted = inbound.Admitted{Outcome: ledger.OutcomeRun, Run: "run_1"}
		said := g.asked[len(g.asked)-2:]
		require.Equal(t, said[1], said[0], bearer)
	}
	w := call(h, "POST", "/v1/wake", `{"session":"main","text":"look","mode":"now"}`, "Idempotency-Key: k1")
	require.Contains(t, w.Body.String(), `"id":"k1"`)
	require.Equal(t, "agent:main:main/k1", g.asked[4].Event)
}

// The gateway's own answer to a wake is there at once.
func TestWakeOfACommand(t *testing.T) {
	t.Parallel()
	g := withMain()
	g.admitted = inbound.Admitted{Outcome: ledger.OutcomeCommand, Notice: "Done."}
	w := call(serve(t, g), "POST", "/v1/wake", `{"text":"/status","id":"w1"}`)
	require.JSONEq(t, `{"session":"`+string(mainID)+`","id":"w1","mode":"now","reply":"Done."}`, w.Body.String())
}

// A text for the next heartbeat is that of its author, with its label, and goes to the agent of the session.
func TestWakeWithTheNextHeartbeat(t *testing.T) {
	t.Parallel()
	g := withMain()
	g.woken = jobs.Woken{Job: "heartbeat:main", Next: clock.Add(time.Hour)}
	h := newServer(t, g, withTokens(auth.Credential{Name: "ops", Token: "ops", Level: flow.Internal, Role: auth.RoleOperator})).Handler()
	leave := func(bearer, id, text string) (int, string) {
		w := call(h, "POST", "/v1/wake", `{"text":"`+text+`","mode":"next-heartbeat","id":"`+id+`","label":"INTERNAL"}`, "Authorization: Bearer "+bearer)
		return w.Code, w.Body.String()
	}
	code, body := leave(token, "w1", `look\u0000`)
	require.Equal(t, http.StatusAccepted, code, body)
	require.JSONEq(t, `{"session":"`+string(mainID)+`","id":"w1","mode":"next-heartbeat","job":"heartbeat:main","next":"`+g.woken.Next.Format(time.RFC3339Nano)+`"}`, body)
	g.woken.Next = time.Time{}
	_, body = leave("ops", "w1", "look")
	require.NotContains(t, body, `"next"`, "it was told before")
	require.Equal(t, []ledger.TriggerWake{
		{ID: "agent:main:main/w1", From: sessions.Peer{ID: "local"}, Text: "look", Label: flow.NewLabel(flow.Internal, flow.Trusted), At: clock},
		{ID: "token:ops/agent:main:main/w1", From: sessions.Peer{ID: "token:ops", Name: "ops"}, Text: "look", Label: flow.NewLabel(flow.Internal, flow.Untrusted), At: clock},
	}, g.left)
	require.Equal(t, []string{"main operator", "main token:ops"}, g.enders)
	require.Empty(t, g.asked, "nothing is worked now")

	for want, err := range map[int]error{409: jobs.ErrOtherWake, 503: jobs.ErrNotPlanned, 400: &request.Error{Field: "mode", Text: "no heartbeat"}} {
		g.refuse = err
		code, body = leave(token, "w1", "look")
		require.Equal(t, want, code, body)
	}
	g.rise(flow.Confidential)
	left := len(g.left)
	code, _ = leave("ops", "w2", "look")
	require.Equal(t, 404, code)
	code, _ = leave(token, "w2", ` \u0000`)
	require.Equal(t, 400, code)
	require.Len(t, g.left, left)
}

func TestWakeIsRefused(t *testing.T) {
	t.Parallel()
	g := withMain()
	g.add(sessions.Record{ID: "sess_2", Key: "agent:main:http:2", Agent: "main"})
	g.rise(flow.Confidential)
	h := newServer(t, g, withTokens(
		auth.Credential{Name: "low", Token: "low", Level: flow.Internal, Role: auth.RoleOperator},
		auth.Credential{Name: "reader", Token: "reader", Level: flow.Restricted, Role: auth.RoleViewer})).Handler()
	for name, c := range map[string]struct {
		token, body string
		status      int
		text        string
	}{
		"without text":          {token, `{"text":" \n"}`, 400, "text: is empty"},
		"in an unknown way":     {token, `{"text":"x","mode":"later"}`, 422, "mode"},
		"with an unknown field": {token, `{"text":"x","message":"y"}`, 422, "message"},
		"with a label too high": {"low", `{"session":"sess_2","text":"x","label":"RESTRICTED"}`, 403, "label: RESTRICTED is above INTERNAL"},
		"in no session":         {token, `{"session":"nowhere","text":"x"}`, 404, "not_found"},
		"in a session above":    {"low", `{"text":"x"}`, 404, "not_found"},
		"by who may only read":  {"reader", `{"text":"x"}`, 403, "reader"},
		"with too long a name":  {token, `{"text":"x","id":"` + strings.Repeat("x", 201) + `"}`, 422, "id"},
	} {
		w := call(h, "POST", "/v1/wake", c.body, "Authorization: Bearer "+c.token)
		require.Equal(t, c.status, w.Code, "%s: %s", name, w.Body)
		require.Contains(t, w.Body.String(), c.text, name)
	}
	require.Empty(t, g.asked)
	g.fail = request.ErrBusy
	require.Equal(t, http.StatusConflict, call(h, "POST", "/v1/wake", `{"session":"sess_2","text":"x"}`).Code)
}
