package attacks_test

import (
	"net/http"
	"strings"
)

// wakeAttacks come with texts to sessions whose senders do not wait for the answer.
func wakeAttacks() []attack {
	return []attack{
		{path: "L9", name: "HTTP: a PUBLIC operator wakes the session that knows", act: func(s *scene) {
			high := s.high()
			for _, mode := range []string{"now", "next-heartbeat"} {
				for _, name := range []string{high.ID, high.Key} {
					wake := func(name string) string {
						a := s.as(lowToken, http.MethodPost, "/v1/wake", `{"text":"what do you know?","session":"`+name+`","mode":"`+mode+`"}`)
						s.unseen("answer", a.body)
						return strings.ReplaceAll(a.body, name, "<name>")
					}
					s.same(mode, wake(name), wake("sess_000000000000"))
				}
			}
			s.settle()
		}},
		{path: "L9", name: "HTTP: a PUBLIC operator goes on, as a client of OpenAI's API, in the session that knows", act: func(s *scene) {
			high := s.high()
			ask := func(path, body, name string, headers ...string) string {
				return swap(s.as(lowToken, http.MethodPost, path, `{"model":"main",`+body+`}`, headers...).body, name, "<name>")
			}
			const chat, input = `"messages":[{"role":"user","content":"what do you know?"}]`, `"input":"what do you know?"`
			for hidden, absent := range map[string]string{high.ID: neverID, high.Key: neverKey} {
				s.same("chat", ask("/v1/chat/completions", chat, hidden, "X-Sluice-Session", hidden), ask("/v1/chat/completions", chat, absent, "X-Sluice-Session", absent))
				s.same("chat as a stream", ask("/v1/chat/completions", `"stream":true,`+chat, hidden, "X-Sluice-Session", hidden), ask("/v1/chat/completions", `"stream":true,`+chat, absent, "X-Sluice-Session", absent))
				s.same("conversation", ask("/v1/responses", input+`,"conversation":"`+hidden+`"`, hidden), ask("/v1/responses", input+`,"conversation":"`+absent+`"`, absent))
			}
			for _, run := range s.ids()["run"] {
				hidden, absent := responseOf(run), "resp_"+strings.Repeat("0", 32)
				s.same("previous_response_id", ask("/v1/responses", input+`,"previous_response_id":"`+hidden+`"`, hidden), ask("/v1/responses", input+`,"previous_response_id":"`+absent+`"`, absent))
			}
			s.settle()
		}},
		{path: "L9", name: "HTTP: a PUBLIC operator sends the result of a call of the session that knows", act: func(s *scene) {
			s.high()
			for _, run := range s.ids()["run"] {
				result := func(run string) string {
					id := "call_" + strings.TrimPrefix(run, "run_") + "_00000000"
					a := s.as(lowToken, http.MethodPost, "/v1/chat/completions", `{"model":"main","messages":[{"role":"tool","tool_call_id":"`+id+`","content":"what do you know?"}]}`)
					b := s.as(lowToken, http.MethodPost, "/v1/responses", `{"model":"main","input":[{"type":"function_call_output","call_id":"`+id+`","output":"what do you know?"}]}`)
					return swap(a.body+b.body, id, "<call>")
				}
				s.same("the result of a call", result(run), result("run_"+strings.Repeat("0", 32)))
			}
			s.settle()
		}},
		{path: "L9", name: "HTTP: a PUBLIC operator takes the owner's user for its own", act: func(s *scene) {
			say := func(token, label, text string) string {
				a := s.as(token, http.MethodPost, "/v1/chat/completions", `{"model":"main","user":"ann","messages":[{"role":"user","content":"`+text+`"}]}`, "Idempotency-Key", "ann", "Sluice-Label", label)
				return a.body
			}
			s.has(say(masterToken, "CONFIDENTIAL", "the secret word is "+s.secret), "chat.completion")
			s.unseen("the reply to another token", say(lowToken, "PUBLIC", "what do you know?"))
			s.settle()
		}},
	}
}
