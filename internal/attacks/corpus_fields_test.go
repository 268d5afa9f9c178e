package attacks_test

import (
	"encoding/json"
	"net/http"

	"sluice/policy"
)

// fieldAttacks leave it in what is not a message: titles, metadata, lists, files.
func fieldAttacks() []attack {
	return []attack{
		{path: "L7", name: "the title of a session", act: func(s *scene) {
			low, high := s.low(), s.high()
			s.patch(high, `{"title":"`+s.secret+`"}`)
			s.unseen("list", s.do(low, call("sessions_list", args{})))
		}},
		{path: "L7", name: "the name of a session", act: func(s *scene) {
			low, high := s.low(), s.high()
			s.patch(high, `{"label":"`+s.secret+`"}`)
			s.unseen("list", s.do(low, call("sessions_list", args{})))
		}},
		{path: "L7", name: "the metadata of a session", act: func(s *scene) {
			low, high := s.low(), s.high()
			s.patch(high, `{"metadata":{"word":"`+s.secret+`"}}`)
			s.unseen("list", s.do(low, call("sessions_list", args{"messageLimit": 5})))
		}},
		{path: "L7", name: "what is to be done", act: func(s *scene) {
			low, high := s.low(), s.high()
			s.do(high, call("todo_add", args{"items": []string{s.secret}}))
			s.unseen("list of another session", s.do(low, call("todo_list", args{}), call("session_status", args{})))
		}},
		{path: "L13", name: "what is to be done, with a label above the session's in the database", without: []policy.Checkpoint{policy.CheckTodos}, act: func(s *scene) {
			low := s.low()
			s.do(low, call("todo_add", args{"items": []string{"word " + s.secret[:3]}}))
			s.relabelTodos(low, "word "+s.secret)
			got := s.do(low, call("todo_list", args{}))
			s.unseen("list at PUBLIC", got)
		}},
		{path: "L7", name: "a file, and its name", act: func(s *scene) {
			low, high := s.low(), s.high()
			s.do(high, call("write", args{"path": own(high, "notes.md"), "content": s.secret}), call("write", args{"path": own(high, s.secret+".md"), "content": "x"}))
			for _, path := range []string{own(high, "notes.md"), own(high, ""), ".sessions", "x/../" + own(high, "notes.md"), "../sessions/" + high.ID, "../" + high.ID + "/notes.md", "/", "..", "./../" + high.ID} {
				s.unseen("files of another session", s.do(low, call("read", args{"path": path}), call("list", args{"path": path})))
			}
			s.unseen("files of another session", s.do(low, call("grep", args{"pattern": s.secret[:4]}), call("find", args{"pattern": "**"})))
		}},
		{path: "L7", name: "a shared file tells what a session knows", act: func(s *scene) {
			low, high := s.low(), s.high()
			s.put(low, "shared.md", "old")
			s.has(s.do(high, call("read", args{"path": "shared.md"})), "old")
			s.do(
				high, call("write", args{"path": "shared.md", "content": s.secret}), call("write", args{"path": s.secret + ".md", "content": "x"}),
				call("edit", args{"path": "shared.md", "oldText": "old", "newText": s.secret}), call("write", args{"path": own(low, "x"), "content": s.secret}),
			)
			s.unseen("shared files", s.do(low, call("read", args{"path": "shared.md"}), call("list", args{}), call("list", args{"path": own(low, "")}), call("find", args{"pattern": "**"})))
			s.as(masterToken, http.MethodDelete, "/v1/sessions/"+low.ID+"/files/shared.md", "")
		}},
		{path: "L7", name: "HTTP: a file of a session that has risen", act: func(s *scene) {
			high := s.high()
			s.do(high, call("write", args{"path": own(high, "notes.md"), "content": s.secret}))
			file := "/v1/sessions/" + high.ID + "/files/" + own(high, "notes.md")
			s.has(s.as(masterToken, http.MethodGet, file, "").body, s.secret)
			s.unseen("file", s.as(lowToken, http.MethodGet, file, "").body)
			s.unseen("file", s.as(masterToken, http.MethodGet, file, "", "Sluice-Client", "page").body)
			low := s.low()
			s.unseen("file", s.as(lowToken, http.MethodGet, "/v1/sessions/"+low.ID+"/files/"+own(high, "notes.md"), "").body)
		}},
		{path: "L7", name: "HTTP: a file is written into a session below it", act: func(s *scene) {
			low := s.low()
			a := s.as(masterToken, http.MethodPut, "/v1/sessions/"+low.ID+"/files/notes.md?label=CONFIDENTIAL", s.secret)
			b := s.as(masterToken, http.MethodPut, "/v1/sessions/"+low.ID+"/files/"+own(low, "notes.md")+"?label=CONFIDENTIAL", s.secret)
			if a.status < 300 || b.status < 300 {
				s.leak("file: %d %d", a.status, b.status)
			}
		}},
		{path: "L9", name: "after a reset the session of the same key knows nothing", act: func(s *scene) {
			high := s.high()
			s.do(high, call("todo_add", args{"items": []string{s.secret}}), call("write", args{"path": "notes.md", "content": s.secret}), save("plan", s.secret, "rule"))
			var next sessionRow
			s.read(s.as(masterToken, http.MethodPost, "/v1/sessions/"+high.ID+"/reset", ""), &next)
			s.has(next.Taint, "PUBLIC/trusted")
			got := s.tell(next, "PUBLIC", call("todo_list", args{})+"\n"+call("list", args{})+"\n"+call("sessions_history", args{"sessionKey": next.Key})+"\n"+call("sessions_history", args{"sessionKey": high.ID})+"\n"+call("memory_list", args{}))
			s.unseen("session after its reset", got)
		}},
		{path: "L9", name: "after /new the chat hears nothing of before", act: func(s *scene) {
			s.raised()
			s.say(s.private(), s.owner(), save("plan", s.secret, "rule", "persona"))
			s.say(s.private(), s.owner(), "/new")
			s.has(s.session(s.privateKey()).Taint, "PUBLIC")
			s.say(s.private(), s.owner(), "what do you know?\n"+call("memory_list", args{}))
			s.has(s.shown(s.private()), "I know:")
		}},
		{path: "L9", name: "a stream goes on over a reset", act: func(s *scene) {
			row := s.low()
			s.tell(row, "CONFIDENTIAL", s.secret)
			s.read(s.as(masterToken, http.MethodPost, "/v1/sessions/"+row.ID+"/reset", ""), nil)
			s.unseen("events", s.as(lowToken, http.MethodGet, "/v1/sessions/"+row.ID+"/events?after=0", "", "Last-Event-ID", "1").body)
		}},
		{path: "L10", name: "history for a client that comes later", act: func(s *scene) {
			row := s.low()
			s.tell(row, "PUBLIC", "hello")
			s.tell(row, "CONFIDENTIAL", s.secret)
			for _, path := range []string{"/history", "/history?limit=1", "/runs", "", "/events?after=0"} {
				if a := s.as(lowToken, http.MethodGet, "/v1/sessions/"+row.ID+path, ""); a.status != http.StatusNotFound {
					s.leak("%s: %d", path, a.status)
				}
			}
		}},
		{path: "L10", name: "what was said is taken back, and the session stays as high", act: func(s *scene) {
			row := s.low()
			s.tell(row, "CONFIDENTIAL", s.secret)
			s.tell(row, "PUBLIC", "/undo 3")
			s.has(s.session(row.ID).Taint, "CONFIDENTIAL")
			s.do(row, call("mcp_low_tell", args{"text": "what was undone: " + s.secret}))
		}},
		{path: "L10", name: "what was said is summed up, and the session stays as high", act: func(s *scene) {
			row := s.low()
			s.tell(row, "CONFIDENTIAL", s.secret)
			for range 3 {
				s.tell(row, "PUBLIC", "and more")
			}
			s.tell(row, "PUBLIC", "/compact")
			s.has(s.session(row.ID).Taint, "CONFIDENTIAL")
		}},
		{path: "L10", name: "the same words again, for another token", act: func(s *scene) {
			row := s.low()
			body, err := json.Marshal(map[string]string{"message": s.secret, "label": "CONFIDENTIAL", "id": "one"})
			if err != nil {
				panic(err)
			}
			s.read(s.as(masterToken, http.MethodPost, "/v1/sessions/"+row.ID+"/messages", string(body)), nil)
			s.unseen("answer", s.as(lowToken, http.MethodPost, "/v1/sessions/"+row.ID+"/messages", `{"message":"hi","id":"one"}`).body)
		}},
	}
}
