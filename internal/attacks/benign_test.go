package attacks_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// benign is a script of ordinary work, and what has to come of it.
type benign struct {
	name string
	act  func(s *scene) string
	want string
}

func ordinary() []benign {
	return []benign{
		{"a question and its answer", func(s *scene) string { return s.tell(s.low(), "PUBLIC", "hello there") }, "hello there"},
		{"an answer in a direct chat", func(s *scene) string { s.say(s.private(), s.owner(), says("good day")); return s.shown(s.private()) }, "good day"},
		{"an answer in a group", func(s *scene) string { s.say(s.group(), s.guest(), says("good day")); return s.shown(s.group()) }, "good day"},
		{"a question about what is CONFIDENTIAL where it is known", func(s *scene) string { return s.tell(s.high(), "PUBLIC", "what do you know?") }, "zinc"},
		{"remember and find again", func(s *scene) string {
			return s.do(s.low(), save("colour", "she likes teal"), call("memory_search", args{"query": "colour teal"}))
		}, `"results":[{`},
		{"remember what is CONFIDENTIAL, and find it there", func(s *scene) string {
			h := s.high()
			s.do(h, save("k", "dark teal"))
			return s.do(h, call("memory_get", args{"key": "k"}))
		}, "dark teal"},
		{"what is remembered at PUBLIC is read above", func(s *scene) string {
			s.do(s.low(), save("open", "to all"))
			return s.do(s.high(), call("memory_get", args{"key": "open"}))
		}, "to all"},
		{"a list of what is to be done", func(s *scene) string {
			return s.do(s.low(), call("todo_add", args{"items": []string{"water"}}), call("todo_list", args{}))
		}, "water"},
		{"a file is written and read", func(s *scene) string {
			return s.do(s.low(), call("write", args{"path": "a.md", "content": "text of it"}), call("read", args{"path": "a.md"}))
		}, "text of it"},
		{"a file is searched", func(s *scene) string {
			return s.do(s.low(), call("write", args{"path": "a.md", "content": "needle"}), call("grep", args{"pattern": "need.*"}))
		}, "needle"},
		{"the sessions are listed", func(s *scene) string { return s.do(s.low(), call("sessions_list", args{"limit": 3})) }, `"count":`},
		{"the status of another session", func(s *scene) string { return s.do(s.low(), call("session_status", args{"sessionKey": s.low().Key})) }, `"sessionId"`},
		{"the history of another session", func(s *scene) string {
			other := s.low()
			s.tell(other, "PUBLIC", "known to all")
			return s.do(s.low(), call("sessions_history", args{"sessionKey": other.Key}))
		}, "known to all"},
		{"a higher session reads a lower one", func(s *scene) string {
			other := s.low()
			s.tell(other, "PUBLIC", "known to all")
			return s.do(s.high(), call("sessions_history", args{"sessionKey": other.Key}))
		}, "known to all"},
		{"another agent is asked", func(s *scene) string { return s.do(s.low(), send(s.low("ops"), says("seven"))) }, `"reply":"seven"`},
		{"another session at the same level is asked", func(s *scene) string { return s.do(s.high(), send(s.high("ops"), says("eight"))) }, `"reply":"eight"`},
		{"a sub-agent works", func(s *scene) string { return s.do(s.low(), call("sessions_spawn", args{"task": "count"})) }, `"status":"accepted"`},
		{"a server is told what is PUBLIC", func(s *scene) string { return s.do(s.low(), call("mcp_low_tell", args{"text": "hi"})) }, "hi"},
		{"a server is told what is CONFIDENTIAL, which may be", func(s *scene) string { return s.do(s.high(), call("mcp_high_tell", args{"text": "hi"})) }, "hi"},
		{"a secret goes where it may", func(s *scene) string {
			return s.do(s.low(), call("mcp_high_tell", args{"text": "is {{secret:vault}} there"}))
		}, "there"},
		{"the owner has a message sent elsewhere", func(s *scene) string {
			s.grouped()
			s.say(s.private(), s.owner(), call("message", args{"channel": "telegram", "to": s.groupID(), "message": "lunch is ready"}))
			return s.shown(s.group())
		}, "lunch is ready"},
		{"a message over HTTP", func(s *scene) string {
			s.grouped()
			return s.as(masterToken, http.MethodPost, "/v1/messages", `{"channel":"telegram","to":"`+s.groupID()+`","text":"hi"}`).body
		}, `"id":"dlv_`},
		{"a summary", func(s *scene) string {
			l := s.low()
			s.tell(l, "PUBLIC", "apples")
			return s.do(l, call("summarize", args{}))
		}, `"summary"`},
		{"a model that may be told it", func(s *scene) string { return s.tell(s.low("thrifty"), "PUBLIC", "pears") }, "pears"},
	}
}

// Ordinary work is not in the way of any check.
func TestOrdinaryWorkIsNotBlocked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lenient)
	rows := []benignRow{}
	for n, b := range ordinary() {
		s := w.scene(n)
		got := b.act(s)
		s.end()
		rows = append(rows, benignRow{b.name, strings.Contains(got, b.want)})
		if !strings.Contains(got, b.want) {
			t.Errorf("%s: %q is not in %q", b.name, b.want, got[:min(len(got), 500)])
		}
	}
	require.GreaterOrEqual(t, len(rows), 20)
	keep(t, "benign.json", rows)
}
