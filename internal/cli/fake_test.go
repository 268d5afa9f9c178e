package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

const fakeToken = "t0ken-of-the-fake"

// fake is a gateway's API with canned answers. It tells what it was asked.
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string

	slow      chan struct{} // a slow run has begun
	cancelled chan struct{} // a run was cancelled
	late      chan struct{} // a late command was asked
	ends      sync.Once
	aborted   chan struct{} // the slow run has ended
}

func newFake() *fake {
	f := &fake{slow: make(chan struct{}, 1), cancelled: make(chan struct{}, 1), late: make(chan struct{}, 1), aborted: make(chan struct{})}
	mux := http.NewServeMux()
	f.routes(mux)
	f.Server = httptest.NewServer(f.guard(mux))
	return f
}

// guard notes each request and asks for the token.
func (f *fake) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		f.mu.Lock()
		f.asked = append(f.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
		f.mu.Unlock()
		open := strings.HasSuffix(r.URL.Path, "z") || strings.HasPrefix(r.URL.Path, "/bot")
		if !open && r.Header.Get("Authorization") != "Bearer "+fakeToken {
			refuse(w, http.StatusUnauthorized, "unauthorized", "a token is wanted")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":%q,"message":%q}`, code, message)
}

const fakeSession = `{"id":"sess_1","created_at":1777222996.07,"last_activity":1777222996.07,"busy":false,"persistent":true,"ttl":0,"status":"ready",
	"metadata":{},"file_access":{"read":[""],"write":[""]},"key":"agent:main:main","agent":"main","taint":"INTERNAL","clearance":"RESTRICTED","carries":"PUBLIC","held":"the text is INTERNAL; begin a new session with /new","channel":"webchat","send_policy":"","title":"Ann\u001b[31m","model":""}`

const fakeDelivery = `{"id":"dlv_1","kind":"message","status":"blocked","route":{"channel":"telegram","account":"default","conversation":"1001"},"text":"hello\nworld",
	"label":"RESTRICTED","attempts":0,"error":"PUBLIC is all that it carries","created":"2026-04-26T17:03:16Z","decision":{"action":"block","reason":"RESTRICTED may not flow to PUBLIC",
	"rules":[{"rule":"flow","matched":true,"action":"block","detail":"telegram is PUBLIC"},{"rule":"sendPolicy.default","matched":false}]}}`

const fakeApproval = `{"id":"apr_1","session":"sess_1","run":"run_1","agent":"main","tool":"exec","args":{"command":"rm -r x\u001b[2J"},"label":"INTERNAL/trusted",
	"status":"pending","why":"exec is asked about","rules":["policy.rules.ask","trust"],"approvers":[["telegram:1001","slack:U1"],[]],"on_timeout":"allow",
	"created":"2026-04-26T18:00:16Z","expires":"2026-04-26T18:10:16Z"}`

const fakeHeld = `{"id":"apr_2","session":"sess_1","run":"","agent":"","tool":"","delivery":"dlv_1","args":{"channel":"telegram","account":"default","to":"1001","thread":"",
	"kind":"reply","text":"the plan\nis \u202esiht\udb40\udc41"},"label":"PUBLIC/trusted","status":"denied","why":"a rule asks","on_timeout":"block","by":"telegram:42","reason":"an approver denied it: no",
	"created":"2026-04-26T17:00:16Z","expires":"2026-04-26T17:10:16Z","decided":"2026-04-26T17:03:16Z"}`

const fakeExchange = `{"id":"xch_1","kind":"spawn","requester":{"session":"sess_1","key":"agent:main:main","agent":"main"},
	"target":{"session":"sess_3","key":"agent:main:subagent:7","agent":"main"},"request":"look","name":"prices","phase":"replying","turn":2,
	"first_run":"run_7","started":"2026-04-26T17:03:16Z"}`

const fakeMemory = `{"id":"mem_1","namespace":"main","audience":"owner","classification":"INTERNAL","trust":"trusted","key":"user-name","content":"Eve\nlikes tea",
	"tags":["personal"],"session":"sess_1","updated_at":"2026-04-26T17:03:16Z"}`

func (f *fake) routes(mux *http.ServeMux) {
	answers := map[string]string{
		"GET /healthz":                           `ok`,
		"GET /readyz":                            `{"ready":true,"parts":[{"name":"store","ok":true,"detail":"sqlite"}]}`,
		"GET /v1/status":                         `{"version":"v1","ready":true,"uptime":"2h0m0s","parts":[{"name":"store","ok":true},{"name":"bus","ok":false,"detail":"no servers"}],"accounts":[{"channel":"telegram","account":"default","status":"connected","self":{"id":"1","username":"a_bot"},"classification":"INTERNAL","restarts":2}],"deliveries":{"blocked":1}}`,
		"GET /v1/sessions":                       `[` + fakeSession + `]`,
		"GET /v1/sessions/{id}":                  fakeSession,
		"PATCH /v1/sessions/{id}":                strings.Replace(fakeSession, `"send_policy":""`, `"send_policy":"deny"`, 1),
		"POST /v1/sessions/{id}/reset":           strings.Replace(fakeSession, "sess_1", "sess_2", 1),
		"DELETE /v1/sessions/{id}":               ``,
		"GET /v1/sessions/{id}/history":          `{"messages":[{"role":"user","sender":{"name":"Ann"},"parts":[{"type":"text","text":"hi"}]},{"role":"assistant","parts":[{"type":"toolCall","tool":"sessions_list","args":{"limit":1}},{"type":"text","text":"hello"}]}]}`,
		"GET /v1/deliveries":                     `{"deliveries":[` + fakeDelivery + `],"counts":{"blocked":1,"sent":7}}`,
		"GET /v1/deliveries/{id}":                fakeDelivery,
		"POST /v1/deliveries/{id}/{verb}":        strings.Replace(fakeDelivery, `"blocked"`, `"queued"`, 1),
		"GET /v1/exchanges":                      `{"exchanges":[` + fakeExchange + `]}`,
		"POST /v1/sessions/{id}/tasks":           fakeExchange,
		"GET /v1/runs":                           `{"runs":[{"id":"run_1","session":"sess_1","status":"failed","error":"the model is down"}]}`,
		"GET /v1/runs/{id}":                      `{"id":"run_1","session":"sess_1","status":"done","reply":"hello"}`,
		"GET /v1/directory":                      `{"route":{"channel":"slack","account":"default","chatType":"group","conversation":"C1","title":"ops"},"members":[{"id":"U1","name":"Ada","username":"ada"},{"id":"U2","name":"Bot","bot":true}]}`,
		"GET /v1/pairings":                       `{"pairings":[{"channel":"telegram","account":"default","user":{"id":"7","name":"Bob"},"code":"ABCD2345","status":"pending"},{"channel":"telegram","account":"default","user":{"id":"8"},"status":"approved"}]}`,
		"POST /v1/pairings/{code}/approve":       `{"channel":"telegram","account":"default","user":{"id":"7","name":"Bob"},"status":"approved","note":"All direct chats are one: set ` + "`session.dmScope: per-account-channel-peer`" + `"}`,
		"POST /v1/pairings/{code}/deny":          `{"channel":"telegram","account":"default","user":{"id":"7","name":"Bob"},"status":"denied"}`,
		"POST /v1/pairings/revoke":               ``,
		"GET /v1/approvals":                      `{"approvals":[{"id":"apr_1","session":"sess_1","agent":"main","tool":"exec","args":{"command":"ls"},"status":"pending"}]}`,
		"GET /v1/approvals/{id}":                 fakeApproval,
		"GET /v1/approvals/apr_2":                fakeHeld,
		"POST /v1/approvals/{id}/allow":          `{"id":"apr_1","tool":"exec","status":"allowed"}`,
		"POST /v1/approvals/{id}/deny":           `{"id":"apr_1","tool":"exec","status":"denied"}`,
		"GET /v1/memory":                         `{"memories":[` + fakeMemory + `],"next":"bWFpbg"}`,
		"GET /v1/memory/{id}":                    `{"memory":` + fakeMemory + `,"versions":[{"id":"mem_1","content":"Eve"},{"id":"mem_0","deleted":true,"ending":"replaced"}]}`,
		"DELETE /v1/memory/{id}":                 ``,
		"GET /v1/audit":                          `{"entries":[{"id":"17-ab","at":"2026-04-26T17:03:16Z","actor":"telegram:7","action":"command.denied","object":"/send","session":"sess_1","label":"PUBLIC","detail":{"reason":"not an owner"}}]}`,
		"GET /v1/policy/check":                   `{"action":"allow","reason":"no rule is against it","rules":[{"rule":"flow","matched":true,"action":"allow"}]}`,
		"POST /v1/sessions/{id}/runs/{r}/cancel": `{}`,
		"POST /bot1:good/getMe":                  `{"ok":true,"result":{"id":1,"is_bot":true,"first_name":"Good","username":"good_bot"}}`,
	}
	for pattern, answer := range answers {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.PathValue("id") == "gone" {
				refuse(w, http.StatusNotFound, "not_found", "there is no such thing")
				return
			}
			if strings.HasSuffix(r.URL.Path, "/cancel") {
				f.cancelled <- struct{}{}
			}
			if last := map[string]string{"/v1/audit": "17-ab", "/v1/sessions": "sess_1"}[r.URL.Path]; last != "" && r.Method == http.MethodGet && r.URL.Query().Get("limit") != "50" {
				w.Header().Set("Link", "<"+r.URL.Path+"?after="+last+`>; rel="next"`)
			}
			fmt.Fprintln(w, answer)
		})
	}
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) {
		answer := fakeDelivery
		if body, err := io.ReadAll(r.Body); err == nil && strings.Contains(string(body), "the plan") {
			answer = strings.NewReplacer(`"status":"blocked"`, `"status":"queued"`, `{"action":"block"`, `{"action":"hold"`).Replace(answer)
		}
		fmt.Fprintln(w, answer)
	})
	mux.HandleFunc("POST /v1/sessions/{id}/messages", f.turn)
	mux.HandleFunc("GET /v1/audit/verify", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("head") {
			fmt.Fprint(w, `{"ok":false,"entries":9,"heads":["0:5:aa"],"faults":[{"chain":1,"seq":3,"kind":"missing","text":"it is missing"}]}`)
			return
		}
		fmt.Fprint(w, `{"ok":true,"entries":9,"heads":["0:5:aa","1:4:bb"],"faults":[]}`)
	})
	mux.HandleFunc("POST /bot1:bad/getMe", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"ok":false,"error_code":401,"description":"Unauthorized"}`)
	})
}

// turn answers a message as its text asks.
func (f *fake) turn(w http.ResponseWriter, r *http.Request) {
	var body struct{ Message string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, "bad_request", err.Error())
		return
	}
	if body.Message == "busy" {
		refuse(w, http.StatusConflict, "busy", "the session has a run")
		return
	}
	if r.Header.Get("Accept") != "text/event-stream" {
		fmt.Fprintf(w, `{"run_id":"run_1","status":"ok","reply":"you said %s"}`, body.Message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event, data string) {
		fmt.Fprintf(w, ": beat\n\nid: 1\nevent: %s\ndata: %s\n\n", event, data)
		_ = http.NewResponseController(w).Flush() // the client may be gone
	}
	switch body.Message {
	case "/help":
		send("message.notice", `{"type":"message.notice","text":"Commands: /help"}`)
	case "/late":
		f.late <- struct{}{}
		select {
		case <-f.aborted:
			send("message.notice", `{"type":"message.notice","text":"late, but here"}`)
		case <-r.Context().Done():
		}
	case "stuck":
		f.slow <- struct{}{}
		<-r.Context().Done()
	case "fail":
		send("run.started", `{"type":"run.started","run":"run_1"}`)
		send("run.failed", `{"type":"run.failed","run":"run_1","text":"the model is down"}`)
	case "cut":
		send("text.delta", `{"type":"text.delta","run":"run_1","text":"half"}`)
	case "slow":
		f.slow <- struct{}{}
		send("run.started", `{"type":"run.started","run":"run_1"}`)
		select {
		case <-f.cancelled:
			send("run.aborted", `{"type":"run.aborted","run":"run_1"}`)
			f.ends.Do(func() { close(f.aborted) })
		case <-r.Context().Done():
		}
	default:
		send("tool.call", `{"type":"tool.call","run":"run_1","tool":"sessions_list"}`)
		send("text.delta", `{"type":"text.delta","run":"run_1","text":"you said "}`)
		send("text.delta", fmt.Sprintf(`{"type":"text.delta","run":"run_1","text":%q}`, body.Message))
		send("run.done", fmt.Sprintf(`{"type":"run.done","run":"run_1","text":"you said %s"}`, body.Message))
	}
}

// Asked are the requests so far, one a line.
func (f *fake) Asked() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.asked, "\n")
}
