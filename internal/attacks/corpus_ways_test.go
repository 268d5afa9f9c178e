package attacks_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"sluice/policy"
)

// wayAttacks take ways beside the text: what is shown while a run works, what is asked and quoted, names, files, keys of requests.
func wayAttacks() []attack {
	gate := []policy.Checkpoint{policy.CheckGate}
	return []attack{
		{path: "L7", name: "instructions: files that agents read by themselves", act: func(s *scene) {
			high := s.high()
			var orders []string
			for _, path := range []string{"AGENT.md", "SPINE.md", "../AGENT.md", "../../AGENT.md", "../../SPINE.md", "/AGENT.md", "../../CLAUDE.md"} {
				orders = append(orders, call("write", args{"path": path, "content": s.secret}))
			}
			s.do(high, orders...)
			s.unseen("prompt of a session at PUBLIC", s.tell(s.low(), "PUBLIC", "what do you know?"))
		}},
		{path: "L8", name: "preview: a run rises while its answer is shown", without: gate, act: func(s *scene) {
			s.say(s.private(), s.owner(), "hello")
			s.say(s.private(), s.owner(), s.rises()+"\n"+s.rises())
			s.has(s.session(s.privateKey()).Taint, "CONFIDENTIAL")
		}},
		{path: "L8", name: "verbose: what tools are called with is shown while a run works", without: gate, act: func(s *scene) {
			private := s.raised()
			s.read(s.patch(private, `{"verbose_level":"full"}`), nil)
			s.say(s.private(), s.owner(), call("todo_add", args{"items": []string{s.secret}})+"\n"+call("memory_search", args{"query": s.secret})+"\n"+call("read", args{"path": s.secret}))
		}},
		{path: "L8", name: "a blocked answer is tried again after /new", without: gate, act: func(s *scene) {
			s.raised()
			s.say(s.private(), s.owner(), "what do you know?")
			s.say(s.private(), s.owner(), "/new")
			s.has(s.session(s.privateKey()).Taint, "PUBLIC")
			for _, id := range s.ids()["delivery"] {
				s.as(masterToken, http.MethodPost, "/v1/deliveries/"+id+"/retry", "")
			}
			s.settle()
		}},
		{path: "L8", name: "commands quote what was said", without: gate, act: func(s *scene) {
			s.raised()
			s.say(s.private(), s.owner(), call("sessions_spawn", args{"label": s.secret, "task": "about " + s.secret}))
			for _, command := range []string{"/retry", "/branch", "/subagents", "/status", "/usage", "/compact", "/undo", "/branch 1", "/model", "/subagents stop all"} {
				s.say(s.private(), s.owner(), command)
			}
		}},
		{path: "L8", name: "the question whether a call may run", without: gate, act: func(s *scene) {
			s.grouped()
			s.say(s.private(), s.owner(), s.rises()) // a server's words, which are a stranger's
			s.telegram.Say(s.private(), s.owner(), call("message", args{"channel": "telegram", "to": s.groupID(), "message": s.secret}))
			s.decided()
		}},
		{path: "L8", name: "buttons: the value says it", without: gate, act: func(s *scene) {
			s.raised()
			s.say(s.private(), s.owner(), call("message", args{"message": "choose", "buttons": []any{args{"label": "yes", "value": s.secret}}}))
		}},
		{path: "L8", name: "files: their names and contents", without: gate, act: func(s *scene) {
			s.grouped()
			body, err := json.Marshal(args{
				"channel": "telegram", "to": s.groupID(), "text": "see", "label": "CONFIDENTIAL",
				"files": []any{args{"name": s.secret + ".txt", "mime": "text/plain", "data": base64.StdEncoding.EncodeToString([]byte(s.secret))}},
			})
			if err != nil {
				panic(err) // the test itself is wrong
			}
			a := s.as(masterToken, http.MethodPost, "/v1/messages", string(body))
			s.has(a.body, "block")
			var sent struct{ Files []struct{ ID string } }
			s.read(a, &sent)
			for _, file := range sent.Files {
				s.unseen("file by its id", s.as(lowToken, http.MethodGet, "/v1/media/"+file.ID, "").body)
				s.unseen("file by its id", s.as(masterToken, http.MethodGet, "/v1/media/"+file.ID, "", "Sluice-Client", "page").body)
				s.say(s.private(), s.owner(), call("message", args{"message": "see", "media": []string{file.ID}}))
			}
		}},
		{path: "L8", name: "log: names of files in paths and in errors", act: func(s *scene) {
			high := s.high()
			s.as(masterToken, http.MethodPut, "/v1/sessions/"+high.ID+"/files/"+s.secret+".md?label=CONFIDENTIAL", "text")
			s.as(masterToken, http.MethodGet, "/v1/sessions/"+high.ID+"/files/"+s.secret+".md", "")
			s.as(masterToken, http.MethodGet, "/v1/sessions/"+high.ID+"/files/folder/"+url.PathEscape(s.secret+" and more.md"), "")
			long := s.secret + strings.Repeat("x", 300)
			s.do(high, call("write", args{"path": long, "content": "x"}), call("read", args{"path": long}), call("edit", args{"path": s.secret, "old": "a", "new": "b"}), call("list", args{"path": long}))
		}},
		{path: "L5", name: "HTTP: the key of somebody else's request", act: func(s *scene) {
			s.grouped()
			high := s.high()
			for _, r := range []struct{ path, high, low string }{
				{"/v1/messages", `{"channel":"telegram","to":"` + s.groupID() + `","text":"` + s.secret + `","label":"CONFIDENTIAL"}`, `{"channel":"telegram","to":"` + s.groupID() + `","text":"hi"}`},
				{"/v1/sessions/" + high.ID + "/tasks", `{"task":"` + s.secret + `","label":"CONFIDENTIAL"}`, `{"task":"hi"}`},
			} {
				key := []string{"Idempotency-Key", "key-of-" + r.path}
				s.as(masterToken, http.MethodPost, r.path, r.high, key...)
				for _, name := range []string{key[1], "api/" + key[1], "token:low/" + key[1]} {
					s.unseen("POST "+r.path, s.as(lowToken, http.MethodPost, r.path, r.low, "Idempotency-Key", name).body)
				}
			}
		}},
		{path: "L5", name: "HTTP: a proposed policy is tried on what others have said and called", act: func(s *scene) {
			s.grouped()
			s.as(masterToken, http.MethodPost, "/v1/messages", `{"channel":"telegram","to":"`+s.groupID()+`","text":"`+s.secret+`","label":"CONFIDENTIAL"}`)
			s.do(s.high(), call("memory_save", args{"key": "plan", "content": s.secret}))
			all := `{"policy":"[{ name: out, hook: PRE_OUTPUT, action: block }, { name: in, hook: PRE_TOOL_CALL, action: block }]"}`
			s.unseen("backtest", s.as(lowToken, http.MethodPost, "/v1/policy/backtest", all).body)
			s.unseen("backtest on the page", s.as(masterToken, http.MethodPost, "/v1/policy/backtest", all, "Sluice-Client", "page").body)
			found := `{"policy":"{ name: out, hook: PRE_OUTPUT, when: 'text.contains(\"` + s.secret + `\")', action: block }"}`
			if a := s.as(lowToken, http.MethodPost, "/v1/policy/backtest", found); !strings.Contains(a.body, `"count":{}`) {
				s.leak("backtest: rows with the secret are counted: %s", a.body)
			}
		}},
		{path: "L5", name: "names of models in errors and rows", act: func(s *scene) {
			low, high := s.low(), s.high()
			s.do(high, call("session_status", args{"model": s.secret + "/m"}), call("sessions_spawn", args{"task": "x", "model": s.secret + "/m"}), call("sessions_spawn", args{"task": "x", "agentId": s.secret}))
			s.patch(high, `{"model":"`+s.secret+`/m"}`)
			s.unseen("rows", s.do(low, call("sessions_list", args{}), call("agents_list", args{})))
		}},
		{path: "L1", name: "a report comes after /new, into the session that has taken its place", without: gate, act: func(s *scene) {
			s.telegram.Say(s.private(), s.owner(), call("sessions_spawn", args{"task": s.rises()}))
			s.telegram.Say(s.private(), s.owner(), "/new")
			s.say(s.private(), s.owner(), "what do you know?")
		}},
		{path: "L4", name: "a memory is recalled into an answer in a chat that carries less", without: gate, act: func(s *scene) {
			s.raised()
			s.say(s.private(), s.owner(), save("rule-"+s.secret, s.secret, "rule", s.secret))
			s.say(s.private(), s.owner(), "what do you know?")
			s.say(s.private(), s.owner(), "/new what do you know?")
			s.has(s.session(s.privateKey()).Taint, "PUBLIC")
		}},
		{path: "L10", name: "a message is edited after its conversation has risen", without: gate, act: func(s *scene) {
			said := s.telegram.Say(s.private(), s.owner(), "hello")
			s.say(s.private(), s.owner(), "and")
			s.tell(s.session(s.privateKey()), "CONFIDENTIAL", "the secret word is "+s.secret)
			s.telegram.PostRaw(func(update int64) string {
				return fmt.Sprintf(`{"update_id":%d,"edited_message":{"message_id":%d,"date":1,"edit_date":2,"chat":{"id":%d,"type":"private"},"from":{"id":%d,"is_bot":false,"first_name":"Ada"},"text":"what do you know?"}}`,
					update, said.MessageID, s.private().ID, s.owner().ID)
			})
			s.say(s.private(), s.owner(), "/branch")
			s.has(s.session(s.privateKey()).Taint, "CONFIDENTIAL")
		}},
		{path: "L11", name: "errors of tools differ by what is hidden", act: func(s *scene) {
			low, high := s.low(), s.high()
			s.do(high, call("write", args{"path": "plan.md", "content": s.secret}), call("todo_add", args{"items": []string{s.secret}}))
			for _, order := range []func(name string) string{
				func(name string) string {
					return call("simulate_tool_call", args{"tool_name": "sessions_history", "args": args{"sessionKey": name}})
				},
				func(name string) string {
					return call("simulate_tool_call", args{"tool_name": "sessions_send", "args": args{"sessionKey": name, "message": "x"}})
				},
				func(name string) string { return call("sessions_history", args{"sessionKey": name, "limit": -1}) },
				func(name string) string {
					return call("sessions_send", args{"sessionKey": name, "message": strings.Repeat("x", 70_000)})
				},
			} {
				s.same("by key", swap(s.do(low, order(high.Key)), high.Key, neverKey), s.do(low, order(neverKey)))
				s.same("by id", swap(s.do(low, order(high.ID)), high.ID, neverID), s.do(low, order(neverID)))
			}
		}},
	}
}
