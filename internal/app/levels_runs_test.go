package app_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"sluice/internal/alert"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// world is one of two runs: the same requests of a low caller while others do what that caller may not know of.
type world struct {
	*gateway
	low    *rand.Rand // the same in both
	high   *rand.Rand // not the same
	eager  float64    // how much happens above
	names  naming
	secret []things // above the low caller
	own    []string // ids of the low caller's sessions, as they were made
	shown  []string // ids of whatever else they were shown
	jobs   []string // ids of the jobs that they have made
	tasked bool     // sessions have worked beside each other, so that the trail has their entries in any order
	pushed string   // where the low caller has notifications sent
	resume string   // path of the events of a run, from its second on
	told   []heard
}

// heard is a request of the low caller and what they were told.
type heard struct {
	Request string
	answered
}

// requests is how many requests the low caller makes in one run.
const requests = 80

// TestWhatHappensAboveChangesNothingBelow: two runs of the same requests at INTERNAL, with other things done at CONFIDENTIAL and
// RESTRICTED between them, are told the same, byte for byte but for names and times: lists and their order, counts, pages, errors,
// streams of events, and what becomes of keys that others have used.
func TestWhatHappensAboveChangesNothingBelow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			one, other := newWorld(t, seed, 1, 0.9).run(), newWorld(t, seed, 2, 0.2).run()
			for i := range min(len(one), len(other)) {
				require.Equal(t, other[i], one[i], "request %d", i)
			}
			require.Len(t, one, len(other))
		})
	}
}

// unasked are alerts of which nobody is told while the test lasts.
const unasked = "alerts: { route: { receiver: ops, group_wait: 2h }, receivers: [{ name: ops, targets: [ops] }], inhibit_rules: [{ source_matchers: [severity=critical], target_matchers: [severity=warning] }] }\n"

func newWorld(t *testing.T, seed, which uint64, eager float64) *world {
	t.Helper()
	taker := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(taker.Close)
	return &world{
		pushed: taker.URL, gateway: withLevels(t, flow.Internal, pushing, unasked), low: rand.New(rand.NewPCG(seed, 0)), high: rand.New(rand.NewPCG(seed, which)), eager: eager,
	}
}

// run takes turns between those above and the low caller.
func (w *world) run() []heard {
	for range requests {
		for w.high.Float64() < w.eager {
			w.above()
		}
		w.below()
		w.settle()
	}
	return w.told
}

// pick is one of some.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// above does something that the low caller may not know of.
func (w *world) above() {
	w.t.Helper()
	level := pick(w.high, flow.Confidential, flow.Restricted)
	if len(w.secret) == 0 || w.high.IntN(4) == 0 {
		o := w.plant(w.plantSession(level), pick(w.high, flow.Public, level))
		w.plantFile(o.session)
		w.secret = append(w.secret, o)
	}
	o := pick(w.high, w.secret...)
	do := func(method, path, body string, headers ...string) {
		w.ask(flow.Restricted, method, path, body, append(headers, "Content-Type", "application/json")...)
	}
	key := []string{"Idempotency-Key", pick(w.high, "k1", "k2")}
	session := "/v1/sessions/" + string(o.session.ID)
	switch w.high.IntN(16) {
	case 10:
		do("POST", "/v1/wake", `{"session":"`+string(o.session.ID)+`","text":"`+marker+`","id":"`+key[1]+`","label":"RESTRICTED"}`)
	case 11:
		job := pick(w.high, "j1", "j2")
		do("POST", "/v1/cron", `{"id":"`+job+`","every":"1h","text":"`+marker+`","label":"RESTRICTED"}`)
		do("POST", "/v1/cron/"+o.job.ID+pick(w.high, "/pause", "/resume"), "")
	case 12:
		do("POST", "/v1/alerts", `{"key":"`+pick(w.high, "a1", "a2", "a3")+`","title":"`+marker+`","severity":"critical","label":"RESTRICTED"}`)
		do("POST", "/v1/alerts/"+o.alert.Key+pick(w.high, "/ack", "/resolve"), "")
	case 13:
		do("POST", "/v1/silences", `{"matchers":["severity=~\".+\""],"for":"1h","comment":"`+marker+`"}`)
	case 14:
		n := ledger.Node{
			ID: "hidden-" + uuid.NewString()[:8], Revision: 1, Status: ledger.NodeApproved, Token: uuid.NewString(), Label: flow.NewLabel(level, flow.Untrusted),
			NodeDetail: ledger.NodeDetail{Name: marker, Platform: "linux"}, Created: time.Now(), Changed: time.Now(),
		}
		w.store(ledger.Change{Nodes: []ledger.Node{n}})
		w.ask(flow.Restricted, "DELETE", "/v1/nodes/"+n.ID, "")
	case 15:
		do("POST", "/v1/hooks/ci/requests/"+o.request.ID+"/replay", "")
		do("GET", "/v1/hooks/ci/requests", "")
	case 0:
		do("POST", session+"/messages", `{"message":"list sessions","label":"RESTRICTED"}`, key...)
	case 1:
		do("POST", "/v1/messages", `{"channel":"webchat","to":"local","text":"`+marker+`","label":"RESTRICTED"}`, key...)
	case 2:
		do("PATCH", session, `{"title":"`+marker+`","label":"x"}`)
	case 3:
		do("POST", session+"/tasks", `{"task":"look","label":"RESTRICTED"}`, key...)
	case 4:
		do("POST", "/v1/deliveries/"+string(o.delivery.ID)+"/discard", "")
	case 5:
		do("POST", "/v1/approvals/"+string(o.approval.ID)+"/deny", "")
	case 6:
		do("DELETE", session, "")
	case 7:
		w.Emit(sessions.Event{Session: o.session.ID, Type: sessions.EventNotice, Text: marker, At: time.Now(), Label: flow.NewLabel(level, flow.Trusted)})
	case 8:
		do("GET", "/v1/sessions/"+string(o.session.ID)+"/history", "")
	default: // an agent says something in a session of the low caller that they may not read
		if len(w.own) > 0 {
			w.Emit(sessions.Event{Session: sessions.ID(w.own[0]), Type: sessions.EventNotice, Text: marker, At: time.Now(), Label: flow.NewLabel(level, flow.Trusted)})
			d := o.delivery
			d.ID, d.Session, d.Label, d.Files = ledger.NewDeliveryID(), sessions.ID(w.own[0]), flow.NewLabel(level, flow.Trusted), nil
			w.store(ledger.Change{Deliver: []ledger.Delivery{d}})
		}
	}
}

// absent are names of what never was, in the form of each kind.
var absent = things{
	session: sessions.Record{ID: "sess_0123456789ab"}, run: sessions.Run{ID: "run_00000000000000000000000000000001"},
	delivery: ledger.Delivery{ID: "dlv_00000000000000000000000000000001"}, media: ledger.Media{ID: "med_00000000000000000000000000000001"},
	approval: ledger.Approval{ID: "apr_00000001"}, job: ledger.Job{ID: "j-00000001"}, alert: alert.Alert{Key: "00000000-0000-4000-8000-000000000001"},
	group: alert.Group{Key: "00000000-0000-4000-8000-000000000004"}, silence: alert.Silence{ID: "00000000-0000-4000-8000-000000000002"}, request: ledger.HookRequest{ID: "00000000-0000-4000-8000-000000000003"},
}

// hidden is something above the low caller, or what never was: they must not be able to tell which.
func (w *world) hidden() things {
	wish := w.low.IntN(1 << 16)
	if len(w.secret) == 0 {
		o := absent
		o.exchange.ID = "xch_00000000000000000000000000000001"
		return o
	}
	return w.secret[wish%len(w.secret)]
}

// another is a session that nobody has named yet: one above the low caller where much happens there, or one that never was.
func (w *world) another() sessions.ID {
	w.t.Helper()
	if w.eager > 0.5 {
		return w.plantSession(flow.Confidential).ID
	}
	return sessions.NewID()
}

// below makes a request of the low caller.
func (w *world) below() {
	w.t.Helper()
	o := w.hidden()
	if len(w.own) == 0 || w.low.IntN(8) == 0 {
		w.request("POST", "/v1/sessions", `{"title":"mine","persistent":true}`)
	}
	mine := "/v1/sessions/" + pick(w.low, w.own...)
	session := pick(w.low, mine, mine, "/v1/sessions/"+string(o.session.ID))
	after := pick(w.low, "", "", string(o.session.ID), string(o.run.ID), string(o.delivery.ID), pick(w.low, append(w.shown, "")...))
	page := fmt.Sprintf("?limit=%d&after=%s", 1+w.low.IntN(9), after)
	switch w.low.IntN(44) {
	case 34, 35, 36, 37, 38, 39, 40, 41, 42, 43:
		w.unasked(o, strings.TrimPrefix(session, "/v1/sessions/"))
	case 0:
		w.request("GET", "/v1/sessions"+page, "")
	case 1:
		w.request("GET", "/v1/runs"+page, "")
	case 2:
		w.request("GET", "/v1/deliveries"+page, "")
	case 3:
		w.request("GET", "/v1/exchanges"+pick(w.low, "", "?session="+string(o.session.ID), "?limit=2"), "")
	case 4:
		w.request("GET", "/v1/approvals?status=all", "")
	case 5:
		if query := pick(w.low, "", "?session="+string(o.session.ID), "?limit=3", "?level=CONFIDENTIAL"); !w.tasked {
			w.request("GET", "/v1/audit"+query, "")
		}
	case 6:
		w.request("GET", "/v1/status", "")
	case 7:
		w.request("GET", session, "")
	case 8:
		w.request("GET", session+"/history", "")
	case 9:
		w.request("GET", session+"/runs"+page, "")
	case 10, 11:
		w.request("POST", session+"/messages", `{"message":"`+pick(w.low, "hello", "list sessions", "/status")+`"`+pick(w.low, "", `,"label":"INTERNAL"`, `,"label":"RESTRICTED"`)+`}`,
			"Idempotency-Key", pick(w.low, "k1", "k2", "k3"))
	case 12:
		w.stream("POST", session+"/messages", `{"message":"`+pick(w.low, "hello", "list sessions")+`"}`)
	case 13:
		if w.resume != "" {
			w.stream("GET", w.resume, "")
		}
	case 14:
		w.request("PATCH", session, `{"title":"`+pick(w.low, "a", "b")+`"}`)
	case 15:
		w.tasked = true
		w.request("POST", session+"/tasks", `{"task":"look"}`, "Idempotency-Key", pick(w.low, "k1", "k2"))
	case 16:
		w.request("POST", "/v1/messages", `{"channel":"webchat","to":"local","text":"hi","label":"`+pick(w.low, "PUBLIC", "INTERNAL", "CONFIDENTIAL")+`"}`,
			"Idempotency-Key", pick(w.low, "k1", "k2", "k3"))
	case 17:
		w.request("GET", pick(w.low, "/v1/runs/"+string(o.run.ID)+"?wait=1s", "/v1/deliveries/"+string(o.delivery.ID), "/v1/exchanges/"+o.exchange.ID, "/v1/media/"+string(o.media.ID)), "")
	case 18:
		w.request("POST", pick(w.low, "/v1/deliveries/"+string(o.delivery.ID)+"/retry", "/v1/approvals/"+string(o.approval.ID)+"/allow", session+"/runs/"+string(o.run.ID)+"/cancel"), "")
	case 19:
		w.request("PUT", session+"/files/a.txt", "mine")
	case 20:
		w.request("GET", session+"/files/"+pick(w.low, "a.txt", ""), "")
	case 21:
		w.request("GET", "/v1/policy/check?channel=webchat&session="+strings.TrimPrefix(session, "/v1/sessions/"), "")
		w.request("POST", "/v1/policy/check", `{"channel":"webchat","session":"`+strings.TrimPrefix(session, "/v1/sessions/")+`"}`)
	case 22:
		w.request("DELETE", "/v1/sessions?older_than=1h&status=idle", "")
	case 23:
		w.request("POST", session+"/reset", "")
	case 24:
		w.request("POST", "/v1/policy/simulate", `{"tool_name":"todo_list","session":"`+strings.TrimPrefix(session, "/v1/sessions/")+`"}`)
	case 25:
		w.request("POST", "/v1/policy/simulate", `{"tool_name":"message","args":{"channel":"webchat","to":"local","message":"hi"}}`)
		w.request("POST", "/v1/policy/simulate", `{"tool_name":"sessions_send","args":{"sessionKey":"`+string(o.session.ID)+`","message":"hi"}}`)
	case 26, 27:
		w.peer(o, strings.TrimPrefix(session, "/v1/sessions/"))
	case 28, 29:
		w.tool(o, strings.TrimPrefix(session, "/v1/sessions/"))
	case 30, 31:
		w.chat(o, strings.TrimPrefix(session, "/v1/sessions/"))
	case 32, 33:
		w.push(o)
	}
}

// unasked is about what happens without a message: texts for sessions, jobs, hooks, nodes and alerts.
func (w *world) unasked(o things, session string) {
	w.t.Helper()
	key, job := pick(w.low, "a1", "a2", "a3"), pick(w.low, append(w.jobs, o.job.ID, "j1", "j2")...)
	limit := fmt.Sprintf("?limit=%d", 1+w.low.IntN(5))
	switch w.low.IntN(18) {
	case 0, 1:
		w.request("POST", "/v1/wake", `{"session":"`+session+`","text":"`+pick(w.low, "hello", "/status")+`","mode":"`+pick(w.low, "now", "now", "next-heartbeat")+`","id":"`+pick(w.low, "k1", "k2", "k3")+`"}`)
	case 2:
		w.request("GET", "/v1/cron"+pick(w.low, "", limit, "?after="+o.job.ID, "?state=paused", "?state=active"), "")
	case 3:
		if len(w.jobs) > 0 { // lists are in the order of ids, which are random
			return
		}
		made := w.ask(flow.Internal, "POST", "/v1/cron", `{"id":"`+pick(w.low, "j1", "j2")+`","every":"1h","text":"mine","deliver":{"to":["ops"]}}`, "Content-Type", "application/json")
		var j struct{ ID string }
		require.NoError(w.t, json.Unmarshal([]byte(made.Body), &j), made.Body)
		w.jobs = append(w.jobs, j.ID)
		w.keep("POST", "/v1/cron", "", made)
	case 4:
		w.request("GET", "/v1/cron/"+job+pick(w.low, "", "/history"), "")
	case 5:
		w.request("POST", "/v1/cron/"+job+pick(w.low, "/pause", "/resume"), "")
	case 6:
		w.request(pick(w.low, "PATCH", "DELETE"), "/v1/cron/"+job, `{"text":"other"}`)
	case 7:
		w.request("GET", "/v1/hooks"+pick(w.low, "", "/ci/requests", "/ci/requests"+limit, "/ci/requests/"+o.request.ID), "")
	case 8:
		w.request("POST", "/v1/hooks/ci"+pick(w.low, "/test", "/requests/"+o.request.ID+"/replay"), `{"payload":"{}"}`)
	case 9:
		w.request("GET", "/v1/nodes", "")
	case 10, 11:
		w.request("POST", "/v1/alerts", `{"key":"`+key+`","title":"mine","severity":"`+pick(w.low, "warning", "error")+`"}`)
	case 12:
		w.request("GET", "/v1/alerts"+pick(w.low, "", "?status=all", limit, "?after="+o.alert.Key, "/"+key, "/"+o.alert.Key), "")
	case 13:
		w.request("POST", "/v1/alerts/"+pick(w.low, key, o.alert.Key, "SECRET/"+key)+pick(w.low, "/ack", "/resolve", "/silence"), `{"for":"1h"}`)
	case 14:
		w.request("GET", "/v1/silences"+pick(w.low, "", "?state=all", limit, "/"+o.silence.ID), "")
	case 15:
		w.request("GET", "/api/v2/"+pick(w.low, "alerts", "alerts/groups", "silences", "status", "receivers"), "")
	case 16:
		w.request("GET", pick(w.low, "/v1/checks", "/v1/alert-groups", "/v1/alert-groups"+limit, "/v1/alert-groups?after="+o.group.Key, "/v1/alert-groups/"+o.group.Key), "")
	case 17:
		w.request("POST", "/v1/sessions/"+session+"/messages", `{"message":"`+pick(w.low, "/alerts", "/cron", "/nodes", "/ack "+key)+`"}`)
	}
}

// peer makes a request of the low caller over A2A.
func (w *world) peer(o things, session string) {
	w.t.Helper()
	if session == string(o.session.ID) { // whoever names a context again means the same session: each name is used once
		session = string(w.another())
	}
	message := `{"message":{"kind":"message","messageId":"` + pick(w.low, "k1", "k2", "k3") + `","contextId":"` + session + `","role":"user","parts":[{"kind":"text","text":"` + pick(w.low, "hello", "list sessions") + `"}]}}`
	named := `{"id":"` + pick(w.low, append(w.shown, string(o.run.ID))...) + `"}`
	method := pick(w.low, "message/send", "tasks/get", "tasks/cancel")
	params := named
	if method == "message/send" {
		params = message
	}
	w.request("POST", "/a2a/main", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
}

// push is about notifications of a task of the low caller, or of a hidden one.
func (w *world) push(o things) {
	w.t.Helper()
	task := pick(w.low, append(w.ran(), string(o.run.ID))...)
	method := pick(w.low, "set", "set", "get", "list", "delete")
	params := map[string]string{
		"set": `{"taskId":"` + task + `","pushNotificationConfig":{"id":"mine","url":"` + pick(w.low, w.pushed, "https://elsewhere.example/") + `"}}`,
		"get": `{"id":"` + task + `","pushNotificationConfigId":"mine"}`, "list": `{"id":"` + task + `"}`, "delete": `{"id":"` + task + `","pushNotificationConfigId":"mine"}`,
	}
	w.request("POST", "/a2a/main", `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/`+method+`","params":`+params[method]+`}`)
}

// statusFunction is a function of a client with the name of a tool that the agent may not use: its model calls it when it is asked for the status.
const statusFunction = `"tools":[{"type":"function","function":{"name":"session_status","parameters":{"type":"object"}}}]`

// chat makes a request of the low caller over OpenAI's API, some with functions of theirs or with results of calls.
func (w *world) chat(o things, session string) {
	w.t.Helper()
	run := strings.TrimPrefix(pick(w.low, append(w.ran(), string(o.run.ID))...), "run_")
	functions := pick(w.low, "", statusFunction+",")
	said := `{"role":"user","content":"` + pick(w.low, "hello", "list sessions", "status", "status") + `"}`
	where := pick(w.low, `"user":"`+pick(w.low, "ann", "bob")+`",`, "")
	key := []string{"Idempotency-Key", pick(w.low, "k1", "k2", "k3", "k4")}
	switch w.low.IntN(6) {
	case 0:
		w.request("GET", "/v1/responses/resp_"+run, "")
	case 1:
		w.request("POST", "/v1/responses", `{"model":"main","previous_response_id":"resp_`+run+`","input":"hello"}`, key...)
	case 2:
		w.request("POST", "/v1/chat/completions", `{"model":"main",`+functions+`"messages":[{"role":"tool","tool_call_id":"call_`+run+`_00000000","content":"21"}]}`, key...)
	case 3:
		w.request("POST", "/v1/chat/completions", `{"model":"main",`+functions+`"messages":[`+said+`]}`, append(key, "X-Sluice-Session", session)...)
	default:
		w.request("POST", "/v1/chat/completions", `{"model":"main",`+where+functions+`"messages":[`+said+`]}`, key...)
	}
}

// tool makes a request of the low caller over MCP.
func (w *world) tool(o things, session string) {
	w.t.Helper()
	params := `{"uri":"sluice://sessions/` + session + `"}`
	method := pick(w.low, "tools/call", "tools/call", "resources/list", "resources/read")
	switch method {
	case "resources/list":
		params = `{}`
	case "tools/call":
		params = pick(
			w.low, `{"name":"sessions_list","arguments":{"limit":3}}`, `{"name":"session_status","arguments":{"sessionKey":"`+session+`"}}`, `{"name":"sessions_history","arguments":{"sessionKey":"`+session+`"}}`,
			`{"name":"sessions_send","arguments":{"sessionKey":"`+session+`","message":"hello","name":"k1"}}`, `{"name":"run_status","arguments":{"run":"`+string(o.run.ID)+`"}}`,
			`{"name":"delivery_show","arguments":{"id":"`+string(o.delivery.ID)+`"}}`, `{"name":"deliveries_list","arguments":{}}`, `{"name":"memory_search","arguments":{}}`, `{"name":"alert_list","arguments":{}}`,
		)
	}
	w.request("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, "Accept", "application/json, text/event-stream")
}

// ran are the runs that the low caller was shown.
func (w *world) ran() []string {
	return slices.DeleteFunc(slices.Clone(w.shown), func(id string) bool { return !strings.HasPrefix(id, "run_") })
}

var anID = regexp.MustCompile(`\b(sess|run|dlv|xch|resp|call)_[0-9a-f]+(_[0-9a-f]+)?`)

// aKey is the name of a planted job, alert, silence or request to a hook.
var aKey = regexp.MustCompile(`\bj-[0-9a-f]{8}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// digits are those of an id; a run, its response and its calls have the same.
func digits(id string) string { return strings.Split(id, "_")[1] }

var idsIn = regexp.MustCompile(`"(?:id|run_id)":"((?:sess|run|dlv)_[0-9a-f]+)"`)

// request makes a request of the low caller and keeps what they were told.
func (w *world) request(method, path, body string, headers ...string) {
	w.t.Helper()
	a := w.ask(flow.Internal, method, path, body, append(headers, "Content-Type", "application/json")...)
	require.NotContains(w.t, a.Body, marker, path)
	for _, m := range idsIn.FindAllStringSubmatch(a.Body, -1) {
		w.shown = append(w.shown, m[1])
	}
	if a.Status == http.StatusCreated && path == "/v1/sessions" || a.Status == http.StatusOK && strings.HasSuffix(path, "/reset") {
		w.own = append(w.own, idsIn.FindStringSubmatch(a.Body)[1])
	}
	w.keep(method, path, body, a)
}

func (w *world) keep(method, path, body string, a answered) {
	place, _, _ := strings.Cut(path, "?") // which ids it names is not the same in both
	for _, id := range anID.FindAllString(place+body, -1) {
		if !slices.ContainsFunc(w.shown, func(shown string) bool { return digits(shown) == digits(id) }) {
			a.Body = strings.ReplaceAll(a.Body, id, "it") // what they have named and were never shown
		}
	}
	for _, id := range w.jobs {
		a.Body, place, body = strings.ReplaceAll(a.Body, id, "job"), strings.ReplaceAll(place, id, "job"), strings.ReplaceAll(body, id, "job")
	}
	for _, id := range aKey.FindAllString(path+body, -1) {
		a.Body = strings.ReplaceAll(a.Body, id, "it")
	}
	a.Body = strings.ReplaceAll(a.Body, w.pushed, "there")
	request := regexp.MustCompile(`_[0-9a-f]+|`+aKey.String()).ReplaceAllString(method+" "+place+" "+strings.ReplaceAll(body, w.pushed, "there"), "_")
	w.told = append(w.told, heard{request, w.names.normal(a)})
}

// stream makes a request whose answer are events, and reads up to the end of a run.
func (w *world) stream(method, path, body string) {
	w.t.Helper()
	resp := w.call(method, path, body, "Authorization", "Bearer "+flow.Internal.String(), "Accept", "text/event-stream")
	defer resp.Body.Close() //nolint:errcheck // nothing is written
	resp.Header.Del("Date")
	a := answered{Status: resp.StatusCode, Header: resp.Header}
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		require.NoError(w.t, err)
		a.Body = string(text)
		w.keep(method, path, body, a)
		return
	}
	events, first := w.events(resp.Body)
	if method == http.MethodPost && first != "" {
		w.resume = "/v1/sessions/" + resp.Header.Get("X-Session-Id") + "/events?after=" + first
	}
	a.Body = strings.Join(events, "\n")
	w.keep(method, path, body, a)
}

// events reads events up to the end of a run, and the id of the first; deltas are put together, as they are cut by time.
func (w *world) events(body io.Reader) (events []string, first string) {
	w.t.Helper()
	var delta string
	for frame := range frames(body) {
		require.NotContains(w.t, frame, marker)
		id, data := fieldOf(frame, "id: "), fieldOf(frame, "data: ")
		if data == "" {
			continue
		}
		var e sessions.Event
		require.NoError(w.t, json.Unmarshal([]byte(data), &e))
		require.Zero(w.t, e.Seq, "numbers count what happens everywhere")
		if id != "" {
			require.Len(w.t, id, 32)
			first = cmp.Or(first, id)
		}
		if e.Type == sessions.EventDelta {
			delta += e.Text
			continue
		}
		events = append(events, delta+"\n"+data)
		if delta = ""; e.Type.Terminal() {
			break
		}
	}
	return events, first
}

// far reports whether a lane has only what is due in an hour or later: jobs, and alerts of which nobody is told.
func (w *world) far(lane sessions.Lane) bool {
	if lane != ledger.DueLane {
		return lane == ledger.AlertLane
	}
	open, err := w.Store().OpenTriggers(w.t.Context(), 0, 1)
	require.NoError(w.t, err)
	return len(open) > 0 && time.Until(open[0].Due) > 30*time.Minute
}

// settle waits until nothing works or is on its way.
func (w *world) settle() {
	w.t.Helper()
	deadline := time.After(patience)
	for {
		lanes, err := w.Store().WaitingLanes(w.t.Context(), 0) // one question: between two of them work goes from one kind to another
		require.NoError(w.t, err)
		if lanes = slices.DeleteFunc(lanes, w.far); len(lanes) == 0 {
			return
		}
		select {
		case <-w.committed:
		case <-deadline:
			w.t.Fatalf("it goes on working: %v", lanes)
		}
	}
}
