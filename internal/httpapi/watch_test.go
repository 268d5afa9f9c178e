package httpapi_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/sessions"
)

// forInternal limits the tests' token to INTERNAL.
func forInternal(c *httpapi.Config) { c.Access.Tokens[0].Level = flow.Internal }

func at(l flow.Level) flow.Label { return flow.NewLabel(l, flow.Trusted) }

// rise gives the main session a taint.
func (g *gateway) rise(l flow.Level) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.records[string(mainID)]
	r.Taint = at(l)
	g.records[string(mainID)], g.records[string(r.Key)] = r, r
}

// reading gives all of a stream once it has ended as it should; else nothing.
func reading(body io.Reader) <-chan string {
	read := make(chan string, 1)
	go func() {
		text, err := io.ReadAll(body)
		if err != nil {
			text = nil
		}
		read <- string(text)
	}()
	return read
}

// A stream leaves out what is above its reader, and ends when the session rises above them.
func TestAStreamShowsNothingAboveItsReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := withMain()
		_, w := started(t, g, forInternal)
		read := reading(answer(t, w.dial(t, "GET", "/v1/sessions/main/events", "")).Body)
		for i, e := range []sessions.Event{
			{Text: "one", Label: at(flow.Public)},
			{Text: "secret", Label: at(flow.Confidential)},
			{Text: "lost"},
			{Text: "two", Label: at(flow.Internal)},
			{Text: "secret", Label: at(flow.Restricted)},
		} {
			e.Seq, e.Type = uint64(1000+i), sessions.EventNotice
			g.live <- e
			synctest.Wait()
		}
		g.rise(flow.Confidential)
		g.live <- sessions.Event{Seq: 2000, Type: sessions.EventNotice, Text: "late", Label: at(flow.Public)}
		text := <-read
		require.Equal(t, 2, strings.Count(text, "\ndata: "), text)
		require.Contains(t, text, `"text":"one"`)
		require.Contains(t, text, `"text":"two"`)
		require.NotContains(t, text, `"seq"`, "the numbers of events count what happens in other sessions")
	})
}

// The stream of a quiet session ends too when it rises: nothing need be said for that.
func TestAQuietStreamEndsWhenTheSessionRises(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := withMain()
		_, w := started(t, g, forInternal)
		body := answer(t, w.dial(t, "GET", "/v1/sessions/main/events", "")).Body
		time.AfterFunc(time.Minute, func() { g.rise(flow.Restricted) })
		began := time.Now()
		_, err := io.ReadAll(body)
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(began), time.Minute+15*time.Second)
	})
}

// Who has asked is told that the answer is there, and nothing of it, where the session has risen above them in the meantime.
func TestAnAnswerAboveItsAskerIsNotShown(t *testing.T) {
	t.Parallel()
	for name, live := range map[string]bool{"by the bus": true, "by the row": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := withMain()
				run := sessions.Run{ID: "run_1", Session: mainID, Status: sessions.RunRunning, Label: at(flow.Public)}
				g.runs["run_1"], g.admitted = run, inbound.Admitted{Outcome: ledger.OutcomeRun, Run: "run_1"}
				s, w := started(t, g, forInternal)
				read := reading(answer(t, w.dial(t, "POST", "/v1/sessions/main/messages", `{"message":"2+2"}`)).Body)
				g.live <- sessions.Event{Run: "run_1", Type: sessions.EventDelta, Text: "let me see", Label: at(flow.Public)}
				synctest.Wait()
				g.rise(flow.Restricted)
				g.live <- sessions.Event{Run: "run_1", Type: sessions.EventDelta, Text: "secret", Label: at(flow.Restricted)}
				run.Status, run.Reply, run.Label = sessions.RunDone, "secret", at(flow.Restricted)
				g.end(run, live)
				text := <-read
				require.Contains(t, text, "let me see")
				require.Contains(t, text, "event: run.done\n")
				require.Contains(t, text, "The reply is above your level and is not shown.")
				require.NotContains(t, text, "secret")
				require.Equal(t, []string{
					`operator answer "run_1" RESTRICTED/trusted: POST /v1/sessions/{id}/messages, above the caller's level (INTERNAL owner) 1`,
				}, g.withheld(t, s))
			})
		})
	}
}

// end stores how a run has ended; with an event it is said at once, else the stream finds out by itself.
func (g *gateway) end(run sessions.Run, event bool) {
	g.mu.Lock()
	g.runs[run.ID] = run
	g.mu.Unlock()
	if event {
		g.live <- sessions.Event{Seq: 7, Run: run.ID, Type: sessions.EventDone, Text: run.Reply, Label: run.Label}
	}
}

// withheld are the entries of the audit trail about answers, once the server has stored all of it.
func (g *gateway) withheld(t *testing.T, s *httpapi.Server) (entries []string) {
	t.Helper()
	require.NoError(t, s.Stop(t.Context()))
	for _, e := range g.trail() {
		if text := entry(t, e); strings.Contains(text, " answer ") {
			entries = append(entries, text)
		}
	}
	return entries
}

// What the gate does not let out no stream tells either, by the bus or by the row, and the operator is told why.
func TestAStreamTellsNoAnswerThatTheGateHolds(t *testing.T) {
	t.Parallel()
	for name, live := range map[string]bool{"by the bus": true, "by the row": false} {
		for reply, want := range map[string]string{"forbidden": "I am not allowed to send it in this conversation", "four, forbidden": `"text":"four, "`, "NO_REPLY": `"type":"run.done"`} {
			t.Run(name+" "+reply, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					g := withMain()
					run := sessions.Run{ID: "run_1", Session: mainID, Status: sessions.RunRunning, Label: at(flow.Public)}
					g.runs["run_1"], g.admitted = run, inbound.Admitted{Outcome: ledger.OutcomeRun, Run: "run_1"}
					s, w := started(t, g)
					read := reading(answer(t, w.dial(t, "POST", "/v1/sessions/main/messages", `{"message":"2+2"}`)).Body)
					synctest.Wait()
					run.Status, run.Reply = sessions.RunDone, reply
					g.end(run, live)
					text := <-read
					require.Contains(t, text, "event: run.done\n")
					require.Contains(t, text, want)
					require.NotContains(t, text, "forbidden")
					require.NotContains(t, text, "NO_REPLY")
					require.Equal(t, reply == "NO_REPLY", !strings.Contains(text, `"text"`))
					require.Equal(t, live, strings.Contains(text, "id: 7\n"), text)
					var withheld []string
					if reply == "forbidden" {
						withheld = []string{`operator answer "run_1" PUBLIC/trusted: POST /v1/sessions/{id}/messages, withheld by the gate (RESTRICTED owner) 1`}
					}
					require.Equal(t, withheld, g.withheld(t, s))
				})
			})
		}
	}
}

// Whole answers are withheld by the run's label, and by what its session has learnt.
func TestAWholeAnswerAboveItsAskerIsNotShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ run, session flow.Level }{
		"the run": {flow.Confidential, flow.Public}, "the session": {flow.Public, flow.Confidential},
	} {
		for _, status := range []sessions.RunStatus{sessions.RunDone, sessions.RunFailed} {
			g := withMain()
			other := g.add(sessions.Record{ID: "sess_000000000002", Key: "agent:main:old"}) // the first message of the name was said there
			other.Taint = at(c.session)
			g.records["sess_000000000002"] = other
			g.runs["run_1"] = sessions.Run{ID: "run_1", Session: other.ID, Status: status, Reply: "secret", Error: "secret", Label: at(c.run)}
			g.admitted = inbound.Admitted{Outcome: ledger.OutcomeRun, Run: "run_1", Repeat: true}
			w := call(newServer(t, g, forInternal).Handler(), "POST", "/v1/sessions/main/messages", `{"message":"2+2"}`, "Accept: application/json")
			require.Equal(t, http.StatusOK, w.Code, name)
			require.Contains(t, w.Body.String(), `"run_id":"run_1"`, name)
			require.Contains(t, w.Body.String(), "The reply is above your level and is not shown.", name)
			require.NotContains(t, w.Body.String(), "secret", name)
		}
	}
}

// The page is the owner's chat: it is heard whatever the main session knows, and told what the gate lets out and nothing else.
func TestThePageSpeaksToASessionAboveIt(t *testing.T) {
	t.Parallel()
	const page, say = "Sluice-Client: page", "/v1/sessions/main/messages"
	g := withMain()
	g.rise(flow.Restricted)
	h := newServer(t, g, withTokens(auth.Credential{Name: "low", Token: "low", Level: flow.Public, Role: auth.RoleOperator}),
		func(c *httpapi.Config) { c.SinkLevel = func(sessions.Route) flow.Level { return flow.Public } }).Handler()
	run := sessions.Run{ID: "run_1", Session: mainID, Status: sessions.RunDone, Reply: "forbidden", Label: at(flow.Restricted)}
	g.runs["run_1"], g.admitted = run, inbound.Admitted{Outcome: ledger.OutcomeRun, Run: "run_1"}
	w := call(h, "POST", say, `{"message":"2+2"}`, page, "Accept: application/json")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "I have a reply, but I am not allowed to send it in this conversation.")
	require.NotContains(t, w.Body.String(), "forbidden")
	require.Equal(t, http.StatusNotFound, call(h, "POST", say, `{"message":"2+2"}`, page, "Authorization: Bearer low").Code, "another token is not the owner's")
	g.admitted = inbound.Admitted{Outcome: ledger.OutcomeCommand, Session: mainID, Notice: "Started a new session.", NoticeID: "dlv_1"}
	g.sent = append(g.sent, ledger.Delivery{ID: "dlv_1", Session: mainID, Label: at(flow.Public)})
	require.Contains(t, call(h, "POST", say, `{"message":"/new"}`, page, "Accept: application/json").Body.String(), "Started a new session.")
	for _, path := range []string{"/v1/sessions/main", "/v1/sessions/main/history", "/v1/sessions/main/events", "/v1/sessions/" + string(mainID)} {
		require.Equal(t, http.StatusNotFound, call(h, "GET", path, "", page).Code, path)
	}
	require.Equal(t, http.StatusNotFound, call(h, "POST", "/v1/sessions/"+string(mainID)+"/messages", `{"message":"2+2"}`, page).Code, "only its own chat")
}

// What a caller says has the level that they give it, at most their own and what the session may learn.
func TestWhatACallerSaysHasALevel(t *testing.T) {
	t.Parallel()
	g := withMain()
	r := g.records[string(mainID)]
	r.Clearance = flow.Internal
	g.records[string(mainID)], g.records[string(r.Key)] = r, r
	h := newServer(t, g, withTokens(
		auth.Credential{Name: "low", Token: "low", Level: flow.Public, Role: auth.RoleOperator},
		auth.Credential{Name: "ops", Token: "ops", Level: flow.Internal, Role: auth.RoleOperator},
	), func(c *httpapi.Config) { c.SinkLevel = func(sessions.Route) flow.Level { return flow.Internal } }).Handler()
	g.admitted = inbound.Admitted{Outcome: ledger.OutcomeIgnored}
	for _, c := range []struct {
		token, given, header string
		status               int
		want                 string
	}{
		{token, "", "", 200, "PUBLIC/trusted"},
		{token, "INTERNAL", "", 200, "INTERNAL/trusted"},
		{token, "PUBLIC/untrusted", "", 200, "PUBLIC/untrusted"},
		{token, "CONFIDENTIAL", "", 422, ""}, // above what the session may learn
		{token, "SECRET", "", 400, ""},
		{token, "", "Sluice-Client: page", 200, "INTERNAL/trusted"},
		{token, "", "Origin: http://127.0.0.1:8484", 200, "INTERNAL/trusted"},
		{token, "CONFIDENTIAL", "Sec-Fetch-Site: same-origin", 403, ""}, // above the page
		{"ops", "", "", 200, "PUBLIC/untrusted"},
		{"ops", "INTERNAL/trusted", "", 200, "INTERNAL/untrusted"},
		{"ops", "RESTRICTED", "", 403, ""},
		{"low", "INTERNAL", "", 403, ""},
		{"low", "", "Sluice-Client: page", 200, "PUBLIC/untrusted"},
	} {
		g.asked = nil
		w := call(h, "POST", "/v1/sessions/main/messages", `{"message":"hello","id":"1","label":"`+c.given+`"}`, "Accept: application/json", "Authorization: Bearer "+c.token, c.header)
		require.Equal(t, c.status, w.Code, "%+v: %s", c, w.Body)
		if c.status != http.StatusOK {
			require.Empty(t, g.asked)
			continue
		}
		require.Equal(t, c.want, g.asked[0].Label.String(), "%+v", c)
		if c.token == token {
			require.Equal(t, sessions.UserID("local"), g.asked[0].Sender.ID)
			require.Equal(t, "agent:main:main/1", g.asked[0].Event)
		} else {
			require.Equal(t, sessions.UserID("token:"+c.token), g.asked[0].Sender.ID, "the holder of another token is not an owner")
			require.Equal(t, "token:"+c.token+"/agent:main:main/1", g.asked[0].Event, "a name is the token's own")
		}
	}
}

// A caller who does not see everything goes on behind an event by its sealed id alone; a number would tell how many events there are.
func TestASealedEventIDIsOfItsSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := withMain()
		g.add(sessions.Record{ID: "sess_000000000002", Key: "agent:main:other"})
		_, w := started(t, g, forInternal)
		lines := bufio.NewScanner(answer(t, w.dial(t, "GET", "/v1/sessions/main/events", "")).Body)
		g.live <- sessions.Event{Seq: 4711, Type: sessions.EventNotice, Label: at(flow.Public)}
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "id: ") {
			require.NoError(t, lines.Err())
		}
		id := strings.TrimPrefix(lines.Text(), "id: ")
		require.Len(t, id, 32)
		answer(t, w.dial(t, "GET", "/v1/sessions/main/events?after="+id, ""))
		require.EqualValues(t, 4711, g.after)
		answer(t, w.dial(t, "GET", "/v1/sessions/agent:main:other/events?after="+id, ""))
		require.Zero(t, g.after, "it begins now")
		for _, bad := range []string{"4711", "1", "x", id[1:], id + "00"} {
			require.Equal(t, http.StatusBadRequest, answer(t, w.dial(t, "GET", "/v1/sessions/main/events?after="+bad, "")).StatusCode, bad)
		}
	})
}
