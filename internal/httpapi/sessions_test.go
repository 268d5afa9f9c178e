package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/router/manage"
	"sluice/router/request"
	"sluice/sessions"
)

const mainID = sessions.ID("sess_000000000001")

func withMain() *gateway {
	g := newGateway()
	g.add(sessions.Record{ID: mainID, Key: "agent:main:main", Agent: "main"})
	return g
}

// The first nine fields are another implementation's: they must not change.
func TestSessionLife(t *testing.T) {
	t.Parallel()
	g := newGateway()
	h := serve(t, g)
	const record = `{"id":"sess_a86118c06688","created_at":1777222996.07,"last_activity":1777222996.07,"busy":false,"persistent":false,
		"ttl":14400,"status":"ready","metadata":{},"file_access":{"read":[""],"write":[""]},
		"key":"agent:main:http:sess_a86118c06688","agent":"main","taint":"PUBLIC/trusted","clearance":"RESTRICTED","model":"offline/guide"}`

	w := call(h, "GET", "/v1/sessions", "")
	require.JSONEq(t, `[]`, w.Body.String())
	w = call(h, "POST", "/v1/sessions", "")
	require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
	require.JSONEq(t, record, w.Body.String())
	w = call(h, "GET", "/v1/sessions/sess_a86118c06688", "")
	require.JSONEq(t, record, w.Body.String())
	w = call(h, "GET", "/v1/sessions/agent:main:http:sess_a86118c06688", "")
	require.JSONEq(t, record, w.Body.String(), "by key")
	w = call(h, "GET", "/v1/sessions", "")
	require.JSONEq(t, "["+record+"]", w.Body.String())
	w = call(h, "DELETE", "/v1/sessions/sess_a86118c06688", "")
	require.Equal(t, http.StatusNoContent, w.Code)
	require.Empty(t, w.Body.String())
	w = call(h, "DELETE", "/v1/sessions/sess_a86118c06688", "")
	require.Equal(t, http.StatusNotFound, w.Code)
}

// The record of one session has the status of its tools beside what its creator attached, as far as the caller's level goes.
func TestToolsSayHowTheyAre(t *testing.T) {
	t.Parallel()
	g := withMain()
	record := g.records[string(mainID)]
	h := newServer(t, g, withTokens(auth.Credential{Name: "ops", Token: "ops", Level: flow.Public, Role: auth.RoleOperator})).Handler()
	metadata := func(token string) string {
		t.Helper()
		var got struct{ Metadata json.RawMessage }
		w := call(h, "GET", "/v1/sessions/main", "", "Authorization: Bearer "+token)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		return string(got.Metadata)
	}
	require.Equal(t, `{}`, metadata(token))
	item := func(status sessions.TodoStatus, level flow.Level) sessions.Todo {
		return sessions.Todo{Status: status, Label: flow.NewLabel(level, flow.Trusted)}
	}
	g.todos = []sessions.Todo{item(sessions.TodoOpen, flow.Public), item(sessions.TodoDone, flow.Public), item(sessions.TodoDone, flow.Confidential), item(sessions.TodoDoing, flow.Confidential)}
	require.JSONEq(t, `{"sluice":{"todos":{"open":1,"doing":1,"done":2}}}`, metadata(token))
	require.JSONEq(t, `{"sluice":{"todos":{"open":1,"doing":0,"done":1}}}`, metadata("ops"))
	record.Metadata = json.RawMessage(`{"b":1,"a":2.50}`)
	g.add(record)
	require.JSONEq(t, `{"b":1,"a":2.50,"sluice":{"todos":{"open":1,"doing":1,"done":2}}}`, metadata(token))
	require.True(t, strings.HasPrefix(metadata(token), `{"b":1,"a":2.50,`), "byte for byte")
	require.Equal(t, 200, call(h, "PATCH", "/v1/sessions/main", `{"metadata":`+metadata(token)+`}`).Code)
	require.JSONEq(t, `{"b":1,"a":2.50}`, string(*g.patched[len(g.patched)-1].Metadata), "what a client sends back is not kept")
	require.Equal(t, 201, call(h, "POST", "/v1/sessions", `{"metadata":{"sluice":{},"c":3}}`).Code)
	require.JSONEq(t, `{"c":3}`, string(g.created[0].Metadata))
}

func TestCreateSessionTakesAllFields(t *testing.T) {
	t.Parallel()
	g := newGateway()
	w := call(serve(t, g), "POST", "/v1/sessions", `{"persistent":true,"ttl":60,"metadata":{"a":1},"file_access":{"read":["docs"]},"title":"T"}`)
	require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
	require.Equal(t, []manage.NewSession{{
		Persistent: true, TTL: time.Minute, Metadata: json.RawMessage(`{"a":1}`), Title: flow.NewText("T", flow.Bottom()), Clearance: flow.Restricted,
		FileAccess: &sessions.FileAccess{Read: []string{"docs"}},
	}}, g.created)
}

func TestBulkDelete(t *testing.T) {
	t.Parallel()
	g := withMain()
	g.add(sessions.Record{ID: "sess_000000000002", Key: "agent:main:http:2", Agent: "main"})
	g.busy["sess_000000000002"] = true
	w := call(serve(t, g), "DELETE", "/v1/sessions?status=idle&older_than=1h30m", "")
	require.JSONEq(t, `{"deleted":1}`, w.Body.String())
	require.Equal(t, []sessions.ID{mainID}, g.ended)
	require.Equal(t, clock.Add(-90*time.Minute), g.queries[0].IdleSince)
}

func TestHistoryShowsNoticesInOrder(t *testing.T) {
	t.Parallel()
	g := withMain()
	label := flow.NewLabel(flow.Public, flow.Trusted)
	say := func(id sessions.MessageID, role sessions.Role, text string, at time.Duration) sessions.Message {
		return sessions.Message{ID: id, Role: role, Label: label, Created: clock.Add(at), Parts: []sessions.Part{sessions.TextPart(text, label)}}
	}
	g.thread = []sessions.Message{say("msg_1", sessions.RoleUser, "hello", 0), say("msg_2", sessions.RoleAssistant, "hi", 2*time.Second)}
	for i, silent := range []string{"REPLY_SKIP", "ANNOUNCE_SKIP\n", " NO_REPLY"} {
		g.thread = append(g.thread, say(sessions.MessageID(fmt.Sprint("msg_s", i)), sessions.RoleAssistant, silent, 3*time.Second))
	}
	g.sent = []ledger.Delivery{
		{ID: "dlv_1", Kind: ledger.KindNotice, Status: ledger.DeliverySent, Text: "Reset.", Label: label, Created: clock.Add(time.Second)},
		{ID: "dlv_2", Kind: ledger.KindMessage, Status: ledger.DeliveryBlocked, Text: "secret", Label: label, Created: clock},
	}
	w := call(serve(t, g), "GET", "/v1/sessions/main/history", "")
	var got struct {
		Session  string
		Messages []struct{ ID, Role, Text string }
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Equal(t, []struct{ ID, Role, Text string }{{"msg_1", "user", "hello"}, {"dlv_1", "notice", "Reset."}, {"msg_2", "assistant", "hi"}}, got.Messages[:3])
	require.Len(t, got.Messages, 6)
	require.NotRegexp(t, "SKIP|NO_REPLY", w.Body.String(), "what means silence is shown to nobody")
	require.NotContains(t, w.Body.String(), "secret", "what the gate held back is not shown")
}

// The numbers of branches count all of them, so a caller who may not see one of them sees none.
func TestHistoryShowsBranches(t *testing.T) {
	t.Parallel()
	g := withMain()
	say := func(id sessions.MessageID, role sessions.Role, level flow.Level) sessions.Message {
		return sessions.Message{ID: id, Role: role, Label: flow.NewLabel(level, flow.Trusted), Created: clock}
	}
	q1, q2 := say("msg_1", sessions.RoleUser, flow.Public), say("msg_3", sessions.RoleUser, flow.Public)
	a1, a2 := say("msg_2", sessions.RoleAssistant, flow.Confidential), say("msg_4", sessions.RoleAssistant, flow.Public)
	g.thread = []sessions.Message{q2, a2}
	g.children = map[sessions.MessageID][]sessions.Message{"": {q1, q2}, "msg_1": {a1}, "msg_3": {a2}}
	h := newServer(t, g, withTokens(auth.Credential{Name: "low", Token: "low", Level: flow.Internal, Role: auth.RoleOperator})).Handler()
	branches := `"branches":[{"message":"msg_2"},{"message":"msg_4","selected":true}]`
	all := call(h, "GET", "/v1/sessions/main/history", "").Body.String()
	require.Contains(t, all, branches)
	require.Contains(t, all, `"head":"msg_4"`)
	require.Contains(t, all, `"parent":"msg_3"`)
	low := call(h, "GET", "/v1/sessions/main/history", "", "Authorization: Bearer low")
	require.Equal(t, 200, low.Code)
	require.NotContains(t, low.Body.String(), "branches")
	g.children["msg_1"] = nil // a question without an answer is a branch, too
	low = call(h, "GET", "/v1/sessions/main/history", "", "Authorization: Bearer low")
	require.Contains(t, low.Body.String(), `"branches":[{"message":"msg_1"},{"message":"msg_4","selected":true}]`)
	g.children[""] = g.children[""][1:]
	require.NotContains(t, call(h, "GET", "/v1/sessions/main/history", "").Body.String(), "branches")
}

// What the gate withholds stays withheld when the run that has said it is not kept any more.
func TestHistoryAsksTheGateAboutOldRuns(t *testing.T) {
	t.Parallel()
	g := withMain()
	record := g.records[string(mainID)]
	record.Route = sessions.Route{Channel: "webchat", Account: "default", ChatType: sessions.Direct, Conversation: "local"}
	g.records[string(record.ID)], g.records[string(record.Key)] = record, record
	label := flow.NewLabel(flow.Public, flow.Trusted)
	g.thread = []sessions.Message{{ID: "msg_1", Role: sessions.RoleAssistant, Run: "run_gone", Label: label, Created: clock, Parts: []sessions.Part{sessions.TextPart("forbidden", label)}}}
	w := call(serve(t, g), "GET", "/v1/sessions/main/history", "")
	require.Equal(t, http.StatusOK, w.Code)
	require.NotContains(t, w.Body.String(), `"text":"forbidden"`)
	require.Contains(t, w.Body.String(), `"withheld":{`)
}

func TestCancelOnlyOwnRuns(t *testing.T) {
	t.Parallel()
	g := withMain()
	g.runs["run_1"] = sessions.Run{ID: "run_1", Session: mainID, Status: sessions.RunRunning}
	g.runs["run_2"] = sessions.Run{ID: "run_2", Session: mainID, Status: sessions.RunDone}
	g.runs["run_3"] = sessions.Run{ID: "run_3", Session: "sess_000000000009", Status: sessions.RunRunning}
	h := serve(t, g)
	stopping := call(h, "POST", "/v1/sessions/main/runs/run_1/cancel", "")
	require.Equal(t, http.StatusAccepted, stopping.Code)
	require.JSONEq(t, `{"status":"cancelling"}`, stopping.Body.String())
	over := call(h, "POST", "/v1/sessions/main/runs/run_2/cancel", "")
	require.Equal(t, http.StatusOK, over.Code, "nothing is left to stop")
	require.JSONEq(t, `{"status":"already_complete"}`, over.Body.String())
	require.Equal(t, http.StatusNotFound, call(h, "POST", "/v1/sessions/main/runs/run_3/cancel", "").Code, "another session's run")
	require.Equal(t, []sessions.ID{mainID}, g.aborted)
}

// A caller says how long it waits for the reply. The run goes on.
func TestTurnWithALimit(t *testing.T) {
	t.Parallel()
	g := withMain()
	g.runs["run_1"], g.admitted = sessions.Run{ID: "run_1", Status: sessions.RunRunning}, inbound.Admitted{Outcome: ledger.OutcomeRun, Run: "run_1"}
	h := serve(t, g)
	say := func(limit string, headers ...string) *httptest.ResponseRecorder {
		return call(h, "POST", "/v1/sessions/main/messages", `{"message":"2+2","timeoutSeconds":`+limit+`}`, headers...)
	}
	const asJSON = "Accept: application/json"
	require.JSONEq(t, `{"run_id":"run_1","status":"accepted","reply":""}`, say("0", asJSON).Body.String())
	require.Empty(t, g.waits, "0: nobody waits")
	require.JSONEq(t, `{"run_id":"run_1","status":"timeout","reply":""}`, say("5", asJSON).Body.String())
	require.Equal(t, []time.Duration{5 * time.Second}, g.waits)
	for _, limit := range []string{"-1", "1801", "36028797018963968"} {
		require.Contains(t, say(limit, asJSON).Body.String(), "timeoutSeconds: want 0 to 1800")
	}
	require.Contains(t, say("5").Body.String(), "timeoutSeconds: a stream ends with its run")
	require.Len(t, g.waits, 1)
}

func TestTurnWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  sessions.Run
		want string
	}{
		"done":    {sessions.Run{Status: sessions.RunDone, Reply: "4"}, `{"run_id":"run_1","status":"ok","reply":"4"}`},
		"failed":  {sessions.Run{Status: sessions.RunFailed, Error: "no model"}, `{"run_id":"run_1","status":"error","reply":"no model"}`},
		"timeout": {sessions.Run{Status: sessions.RunTimeout, Error: "too long"}, `{"run_id":"run_1","status":"timeout","reply":"too long"}`},
		"aborted": {sessions.Run{Status: sessions.RunAborted, Error: "stopped"}, `{"run_id":"run_1","status":"error","reply":"stopped"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := withMain()
			c.run.ID = "run_1"
			g.runs["run_1"], g.admitted = c.run, inbound.Admitted{Outcome: ledger.OutcomeRun, Run: "run_1"}
			w := call(serve(t, g), "POST", "/v1/sessions/main/messages", `{"message":"2+2"}`, "Accept: application/json")
			require.JSONEq(t, c.want, w.Body.String())
		})
	}
}

func TestTurnIsNamedByItsCaller(t *testing.T) {
	t.Parallel()
	g := withMain()
	g.add(sessions.Record{ID: "sess_000000000002", Key: "agent:main:http:sess_000000000002", Agent: "main"})
	g.admitted = inbound.Admitted{Outcome: ledger.OutcomeCommand, Notice: "Done."}
	h := serve(t, g)
	w := call(h, "POST", "/v1/sessions/main/messages", `{"message":"/status","id":"m1"}`, "Accept: application/json", "Idempotency-Key: other")
	require.JSONEq(t, `{"status":"ok","reply":"Done."}`, w.Body.String())
	call(h, "POST", "/v1/sessions/sess_000000000002/messages", `{"message":"x"}`, "Accept: application/json", "Idempotency-Key: m2")
	require.Equal(t, "agent:main:main/m1", g.asked[0].Event)
	require.False(t, g.asked[0].Exclusive, "the page's messages queue")
	require.Equal(t, "agent:main:http:sess_000000000002/m2", g.asked[1].Event)
	require.True(t, g.asked[1].Exclusive, "a program's session takes one at a time")

	_, text := say(t, h)
	require.Contains(t, text, "event: message.notice\n")
	require.Contains(t, text, `"text":"Done."`)

	g.fail = request.ErrBusy
	w = call(h, "POST", "/v1/sessions/sess_000000000002/messages", `{"message":"x"}`)
	require.Equal(t, http.StatusConflict, w.Code)
	require.Contains(t, w.Body.String(), `{"error":"busy"`)
}

// say speaks to the main session over a connection and reads the stream to its end.
func say(t *testing.T, h http.Handler) (http.Header, string) {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/sessions/main/messages", strings.NewReader(`{"message":"2+2","id":"m1"}`))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := server.Client().Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.Header, string(text)
}

func TestTurnStreamsItsOwnRunOnly(t *testing.T) {
	t.Parallel()
	g := withMain()
	g.runs["run_1"], g.admitted = sessions.Run{ID: "run_1", Session: mainID, Status: sessions.RunRunning}, inbound.Admitted{Outcome: ledger.OutcomeRun, Run: "run_1"}
	g.becomes = map[sessions.RunID]sessions.Run{"run_1": {ID: "run_1", Session: mainID, Status: sessions.RunDone, Reply: "four"}}
	for _, e := range []sessions.Event{
		{Run: "run_0", Seq: 6, Type: sessions.EventDone, Text: "of another"},
		{Run: "run_1", Seq: 7, Type: sessions.EventDelta, Text: "fo"},
		{Run: "run_1", Seq: 8, Type: sessions.EventDone, Text: "four"},
	} {
		e.Session, e.At = mainID, clock
		g.live <- e
	}
	header, text := say(t, serve(t, g))
	require.Equal(t, "text/event-stream", header.Get("Content-Type"))
	require.Equal(t, "run_1", header.Get("X-Run-Id"))
	require.Equal(t, "retry: 1000\n\n"+
		"id: 7\nevent: text.delta\ndata: {\"session\":\"sess_000000000001\",\"run\":\"run_1\",\"seq\":7,\"type\":\"text.delta\",\"text\":\"fo\",\"at\":\"2026-04-26T17:03:16.07Z\"}\n\n"+
		"id: 8\nevent: run.done\ndata: {\"session\":\"sess_000000000001\",\"run\":\"run_1\",\"seq\":8,\"type\":\"run.done\",\"text\":\"four\",\"at\":\"2026-04-26T17:03:16.07Z\"}\n\n",
		text)
}

// A repeated message gets its end from the store, whatever the bus still has.
func TestTurnThatEndedBefore(t *testing.T) {
	t.Parallel()
	g := withMain()
	g.runs["run_1"] = sessions.Run{ID: "run_1", Session: mainID, Status: sessions.RunDone, Reply: "four", Finished: clock}
	g.admitted = inbound.Admitted{Outcome: ledger.OutcomeRun, Run: "run_1", Repeat: true}
	_, text := say(t, serve(t, g))
	require.Contains(t, text, "event: run.done\n")
	require.Contains(t, text, `"text":"four"`)
}

func TestEventsGoOn(t *testing.T) {
	t.Parallel()
	g := withMain()
	server := httptest.NewServer(serve(t, g))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/sessions/main/events", http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Last-Event-ID", "41")
	answer, err := server.Client().Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	g.live <- sessions.Event{Seq: 42, Type: sessions.EventNotice, Text: "hello"}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() && lines.Text() != "id: 42" {
		require.NotContains(t, lines.Text(), "event:")
	}
	require.Equal(t, "id: 42", lines.Text())
	require.Equal(t, uint64(41), g.after)
	close(g.live) // the bus gives a slow reader up: the stream ends and the reader comes back
	rest, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Empty(t, rest)
}

// What the API library refuses itself looks like every other error.
func TestErrorsOfTheLibraryArePlainJSON(t *testing.T) {
	t.Parallel()
	h := serve(t, newGateway())
	for _, body := range []string{`{"nonsense":1}`, `{`} {
		w := call(h, "POST", "/v1/messages", body)
		require.GreaterOrEqual(t, w.Code, 400)
		require.Equal(t, "application/json", w.Header().Get("Content-Type"), w.Body)
	}
}

func TestDocumentDescribesEveryRoute(t *testing.T) {
	t.Parallel()
	w := call(serve(t, newGateway()), "GET", "/openapi.json", "")
	var doc struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]map[string]any
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &doc))
	require.Equal(t, "3.1.0", doc.OpenAPI, "%d %.300s", w.Code, w.Body)
	require.NotContains(t, w.Body.String(), "problem+json", "an error is a plain JSON object")
	for path, method := range map[string]string{
		"/v1/sessions": "post", "/v1/sessions/{id}": "patch", "/v1/sessions/{id}/messages": "post", "/v1/sessions/{id}/events": "get",
		"/v1/sessions/{id}/history": "get", "/v1/runs/{run}": "get", "/v1/messages": "post", "/v1/media/{media}": "get", "/v1/deliveries": "get", "/v1/policy/check": "get",
	} {
		require.Contains(t, doc.Paths[path], method, path)
	}
}

// A session says what may be said where it speaks, and why its answers may not: to nobody that the place is above.
func TestASessionSaysWhereItStands(t *testing.T) {
	t.Parallel()
	g := newGateway()
	g.add(sessions.Record{ID: mainID, Key: "agent:main:main", Agent: "main", Route: sessions.Route{Channel: "telegram", Conversation: "1", Title: "Plan"}})
	g.add(sessions.Record{ID: "sess_2", Key: "agent:main:http:2", Agent: "main"})
	h := newServer(t, g, withTokens(auth.Credential{Name: "low", Token: "low", Level: flow.Public, Role: auth.RoleViewer})).Handler()
	get := func(id, token string) string {
		w := call(h, "GET", "/v1/sessions/"+id, "", "Authorization: Bearer "+token)
		require.Equal(t, 200, w.Code, w.Body)
		return w.Body.String()
	}
	require.Contains(t, get("main", token), `"clearance":"RESTRICTED","carries":"INTERNAL"`)
	require.NotContains(t, get("main", token), `"held"`)
	require.Contains(t, get("main", token), `"place":"Plan"`)
	require.NotContains(t, get("main", "low"), "INTERNAL")
	require.NotContains(t, get("sess_2", token), `"carries"`)
	g.rise(flow.Confidential)
	require.Contains(t, get("main", token), `"carries":"INTERNAL","held":"the text is CONFIDENTIAL"`)
	require.Equal(t, 404, call(h, "GET", "/v1/sessions/main", "", "Authorization: Bearer low").Code)
	require.NotContains(t, call(h, "GET", "/v1/sessions", "").Body.String(), `"carries"`)
}

// The session of a sub-agent whose time is over can be read and deleted, as long as it is kept. Nothing works in it any more.
func TestArchivedSession(t *testing.T) {
	t.Parallel()
	g := withMain()
	h := serve(t, g)
	g.add(sessions.Record{ID: "sess_00000000000a", Key: "agent:main:subagent:a", Agent: "main", Ended: clock, Archived: true})
	g.add(sessions.Record{ID: "sess_00000000000b", Key: "agent:main:subagent:b", Agent: "main", Ended: clock})
	g.thread = []sessions.Message{{ID: "msg_1", Role: sessions.RoleAssistant, Created: clock, Parts: []sessions.Part{sessions.TextPart("42 EUR", flow.Bottom())}}}
	require.Contains(t, call(h, "GET", "/v1/sessions/sess_00000000000a", "").Body.String(), `"status":"archived"`)
	for _, name := range []string{"sess_00000000000a", "agent:main:subagent:a"} {
		answer := call(h, "GET", "/v1/sessions/"+name+"/history", "")
		require.Equal(t, 200, answer.Code)
		require.Contains(t, answer.Body.String(), "42 EUR")
		for path, body := range map[string]string{"messages": `{"message":"more"}`, "reset": ``, "tasks": `{"task":"more"}`} {
			require.Equal(t, 404, call(h, "POST", "/v1/sessions/"+name+"/"+path, body).Code, path)
		}
		require.Equal(t, 404, call(h, "PATCH", "/v1/sessions/"+name, `{"label":"x"}`).Code)
	}
	for _, path := range []string{"", "/history"} {
		require.Equal(t, 404, call(h, "GET", "/v1/sessions/sess_00000000000b"+path, "").Code, "it was deleted")
	}
	require.Equal(t, 204, call(h, "DELETE", "/v1/sessions/sess_00000000000a", "").Code)
}
