package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

const fakeToken = "t0ken-of-the-fake"

// fake is a gateway for the scripts: its page of readiness, its chat, and a platform whose tokens it knows.
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newFake() *fake {
	f := &fake{}
	mux := http.NewServeMux()
	for pattern, answer := range map[string]string{
		"GET /healthz":          `ok`,
		"GET /readyz":           `{"ready":true,"parts":[{"name":"store","ok":true,"detail":"sqlite"}]}`,
		"GET /v1/status":        `{"version":"v1","ready":true,"uptime":"2h0m0s"}`,
		"GET /v1/pairings":      `{"pairings":[{"channel":"telegram","account":"default","user":{"id":"8"},"status":"approved"}]}`,
		"POST /bot1:good/getMe": `{"ok":true,"result":{"id":1,"is_bot":true,"first_name":"Good","username":"good_bot"}}`,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, answer) })
	}
	mux.HandleFunc("POST /bot1:bad/getMe", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"ok":false,"error_code":401,"description":"Unauthorized"}`)
	})
	mux.HandleFunc("POST /v1/sessions/{id}/messages", f.turn)
	f.Server = httptest.NewServer(guard(mux))
	return f
}

// guard asks for the token.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open := strings.HasSuffix(r.URL.Path, "z") || strings.HasPrefix(r.URL.Path, "/bot")
		if !open && r.Header.Get("Authorization") != "Bearer "+fakeToken {
			refuse(w, http.StatusUnauthorized, "unauthorized", "a token is needed")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":%q,"message":%q}`, code, message)
}

// turn answers a message as its text asks.
func (f *fake) turn(w http.ResponseWriter, r *http.Request) {
	var body struct{ Message string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		refuse(w, http.StatusBadRequest, "bad_request", err.Error())
		return
	}
	f.mu.Lock()
	f.asked = append(f.asked, r.PathValue("id")+" "+body.Message)
	f.mu.Unlock()
	if body.Message == "busy" {
		refuse(w, http.StatusConflict, "busy", "the session has a run")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event, data string) { fmt.Fprintf(w, ": beat\n\nid: 1\nevent: %s\ndata: %s\n\n", event, data) }
	switch body.Message {
	case "/help":
		send("message.notice", `{"type":"message.notice","text":"Commands: /help"}`)
	case "fail":
		send("run.failed", `{"type":"run.failed","run":"run_1","text":"the model is down"}`)
	case "cut":
		send("text.delta", `{"type":"text.delta","run":"run_1","text":"half"}`)
	default:
		send("tool.call", `{"type":"tool.call","run":"run_1","tool":"sessions_list"}`)
		send("text.delta", fmt.Sprintf(`{"type":"text.delta","run":"run_1","text":%q}`, "you said "+body.Message))
		send("run.done", `{"type":"run.done","run":"run_1"}`)
	}
}

// Asked are the messages so far, one a line.
func (f *fake) Asked() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.asked, "\n")
}
