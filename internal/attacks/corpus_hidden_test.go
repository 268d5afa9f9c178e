package attacks_test

import (
	"net/http"
	"strings"

	"sluice/policy"
)

// swap makes the answer about one thing that about another.
func swap(text, from, to string) string { return strings.ReplaceAll(text, from, to) }

// never is the id, and the key, of a session that never was.
const (
	neverID  = "sess_000000000000"
	neverKey = "agent:main:http:sess_000000000000"
)

// hiddenAttacks tell what is hidden from what is not there.
func hiddenAttacks() []attack {
	// compared asks about a hidden session and about none, by key and by id.
	compared := func(s *scene, order func(name string) string) {
		low, high := s.low(), s.high()
		s.same("by id", swap(s.do(low, order(high.ID)), high.ID, neverID), s.do(low, order(neverID)))
		s.same("by key", swap(s.do(low, order(high.Key)), high.Key, neverKey), s.do(low, order(neverKey)))
	}
	return []attack{
		{path: "L5", name: "history of a hidden session", act: func(s *scene) {
			compared(s, func(name string) string {
				return call("sessions_history", args{"sessionKey": name, "includeTools": true})
			})
		}},
		{path: "L13", name: "history of a session whose label is older than its messages'", without: []policy.Checkpoint{policy.CheckSessionsHistory}, act: func(s *scene) {
			low, stale := s.low(), s.high()
			s.lower(stale)
			s.unseen("history", s.do(low, call("sessions_history", args{"sessionKey": stale.Key}), call("sessions_list", args{"messageLimit": 5})))
			s.raise(stale) // what is wrong in the database is not the gateway's to find in other places
		}},
		{path: "L5", name: "status of a hidden session", without: []policy.Checkpoint{policy.CheckSessionsSee}, act: func(s *scene) {
			compared(s, func(name string) string { return call("session_status", args{"sessionKey": name}) })
		}},
		{path: "L5", name: "a message to a hidden session", without: []policy.Checkpoint{policy.CheckSessionsHidden}, act: func(s *scene) {
			compared(s, func(name string) string { return drop(name, "hello") })
		}},
		{path: "L5", name: "lists and their counts", act: func(s *scene) {
			low := s.low()
			asks := []string{call("sessions_list", args{"messageLimit": 20, "limit": 3}), call("sessions_list", args{"limit": 2}), call("sessions_list", args{"kinds": []string{"other", "main"}})}
			before := s.do(low, asks...)
			high := s.high()
			after := s.do(low, asks...)
			if strings.Contains(after, high.ID) || strings.Count(after, `"count"`) != strings.Count(before, `"count"`) {
				s.leak("sessions_list: it shows the hidden session")
			}
		}},
		{path: "L5", name: "HTTP: each operation on a hidden session", act: func(s *scene) {
			high := s.high()
			for _, o := range s.paths {
				if !strings.Contains(o.path, "{id}") {
					continue
				}
				ask := func(id string) answer {
					body := ""
					if o.method != http.MethodGet && o.method != http.MethodDelete {
						body = `{"message":"hi","task":"hi"}`
					}
					path := strings.NewReplacer("{id}", id, "{run}", "run_0", "{path}", "a.txt", "{path...}", "a.txt").Replace(o.path)
					a := s.as(lowToken, o.method, path, body)
					a.body = swap(a.body, id, "<id>")
					return a
				}
				if hidden, absent := ask(high.ID), ask(neverID); hidden != absent {
					s.leak("%s %s: hidden %v, absent %v", o.method, o.path, hidden, absent)
				}
				if hidden, absent := ask(high.Key), ask(neverKey); hidden != absent {
					s.leak("%s %s by key: hidden %v, absent %v", o.method, o.path, hidden, absent)
				}
			}
			s.has(s.session(high.ID).Taint, "CONFIDENTIAL") // it is still there
		}},
		{path: "L5", name: "HTTP: runs, deliveries and exchanges of a hidden session", act: func(s *scene) {
			high := s.high()
			s.do(high, call("sessions_spawn", args{"task": s.secret}), call("message", args{"channel": "telegram", "to": "owner", "message": s.secret}))
			s.settle()
			absent := map[string]string{"run": "run_000000000000", "delivery": "dlv_000000000000", "exchange": "x_000000000000", "approval": "apr_000000000000", "response": "resp_000000000000"}
			known := s.ids()
			for _, o := range s.paths {
				for parameter, none := range absent {
					if !strings.Contains(o.path, "{"+parameter+"}") || strings.Contains(o.path, "{id}") {
						continue
					}
					for _, id := range known[parameter] {
						hidden := s.as(lowToken, o.method, strings.ReplaceAll(o.path, "{"+parameter+"}", id), "")
						other := s.as(lowToken, o.method, strings.ReplaceAll(o.path, "{"+parameter+"}", none), "")
						s.same(o.method+" "+o.path, swap(hidden.body, id, "<id>"), swap(other.body, none, "<id>"))
					}
				}
			}
		}},
		{path: "L5", name: "HTTP: a channel above the caller against one that is not there", act: func(s *scene) {
			ask := func(channel string) string {
				return swap(s.as(lowToken, http.MethodPost, "/v1/messages", `{"channel":"`+channel+`","to":"C1","text":"hi"}`).body, channel, "<channel>")
			}
			s.same("POST /v1/messages", ask("slack"), ask("slock"))
			look := func(channel string) string {
				return swap(s.as(lowToken, http.MethodGet, "/v1/directory?channel="+channel+"&q=general", "").body, channel, "<channel>")
			}
			s.same("GET /v1/directory", look("slack"), look("slock"))
		}},
		{path: "L5", name: "errors name no level of what is hidden", act: func(s *scene) {
			low, high := s.low(), s.high()
			got := s.do(low, call("sessions_history", args{"sessionKey": high.Key}), call("session_status", args{"sessionKey": high.ID}), drop(high.Key, "hi"))
			for _, word := range []string{"CONFIDENTIAL", "RESTRICTED", "denied", "clearance"} {
				if strings.Contains(got, word) {
					s.leak("error: it says %s: %s", word, got)
				}
			}
		}},
		{path: "L15", name: "watching the label of another session", without: []policy.Checkpoint{policy.CheckSessionsSee}, act: func(s *scene) {
			low, other := s.low(), s.low()
			status := call("session_status", args{"sessionKey": other.Key})
			s.has(s.do(low, status), other.ID)
			s.tell(other, "CONFIDENTIAL", s.secret)
			s.same("session_status", swap(s.do(low, status), other.Key, neverKey), s.do(low, call("session_status", args{"sessionKey": neverKey})))
			got := s.do(low, call("sessions_list", args{}))
			if strings.Contains(got, other.ID) || strings.Contains(got, "CONFIDENTIAL") {
				s.leak("sessions_list: it shows the label of a session that has risen")
			}
		}},
		{path: "L15", name: "HTTP: watching the label of a session", act: func(s *scene) {
			other := s.low()
			s.tell(other, "CONFIDENTIAL", s.secret)
			for _, path := range []string{"/v1/sessions", "/v1/sessions/" + other.ID, "/v1/runs", "/v1/audit"} {
				if a := s.as(lowToken, http.MethodGet, path, ""); strings.Contains(a.body, other.ID) {
					s.leak("%s: it shows a session that has risen: %s", path, a.body)
				}
			}
		}},
		{path: "L11", name: "write-up: the main session takes what it is told in silence", act: func(s *scene) {
			main := s.session("main")
			s.tell(main, "CONFIDENTIAL", "the word is "+s.secret)
			low := s.low()
			first := s.do(low, call("sessions_send", args{"sessionKey": "main", "message": "what do you know?", "timeoutSeconds": 20}))
			s.has(first, `"status":"accepted"`)
			s.unseen("answer to a write-up", first)
			// When its queue is full the answer is the same.
			for range 6 {
				again := s.do(low, call("sessions_send", args{"sessionKey": "main", "message": "what do you know?", "timeoutSeconds": 20}))
				s.same("write-up", masked(again), masked(first))
			}
			s.settle()
			s.unseen("status", s.do(low, call("session_status", args{})))
		}},
		{path: "L11", name: "write-up: a sub-agent and who has started it", act: func(s *scene) {
			high := s.high()
			s.do(high, call("sessions_spawn", args{"task": drop("main", s.secret)}))
		}},
	}
}
