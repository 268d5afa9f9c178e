package attacks_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"

	"sluice/policy"
)

// toldAttacks read an answer that the gate withholds by the API's own ways out. What they look for is not the secret: everybody
// here may know it, and yet it may not be said.
func toldAttacks() []attack {
	muted := func(s *scene) sessionRow {
		row := s.low()
		s.read(s.patch(row, `{"send_policy":"deny"}`), nil)
		return row
	}
	return []attack{
		{path: "L8", name: "HTTP: the answer of a session that may not send", without: []policy.Checkpoint{policy.CheckSend}, act: func(s *scene) {
			s.withheld(muted(s), "muted", `"code":"send_policy"`, "/send on")
		}},
		{path: "L8", name: "HTTP: an answer that a rule blocks", without: []policy.Checkpoint{policy.CheckOutput}, act: func(s *scene) {
			s.withheld(s.low(), "codeword", `"code":"rule"`, "policy.rules.no-codewords")
		}},
		{path: "L8", name: "HTTP: an answer that waits for an approval", without: []policy.Checkpoint{policy.CheckOutput}, act: func(s *scene) {
			s.withheld(s.low(), "planword", `"code":"approval"`, `"approval":"apr_`)
		}},
		{path: "L8", name: "HTTP: a call of the client's function says what a rule blocks", without: []policy.Checkpoint{policy.CheckOutput}, act: func(s *scene) {
			row, word := s.low(), fmt.Sprintf("codeword-%dx", s.n)
			for _, stream := range []string{"false", "true"} {
				a := s.calls(row, stream, call("carry", args{"text": word}))
				s.has(a.body, `"finish_reason":"content_filter"`)
				if strings.Contains(a.body, word) {
					s.leak("the calls: they have what the gate withholds")
				}
			}
			s.settle()
		}},
		{path: "L8", name: "HTTP: a session that rises calls the function of a PUBLIC client", act: func(s *scene) {
			row := s.low()
			a := s.calls(row, "false", s.rises(), call("carry", args{"text": "one"}))
			s.has(a.body, `"finish_reason":"content_filter"`)
			s.has(s.session(row.ID).Taint, "CONFIDENTIAL")
			if strings.Contains(a.body, "tool_calls") {
				s.leak("the client is told the call")
			}
			s.has(s.calls(row, "false", call("carry", args{"text": "two"})).body, `"code":"not_found"`) // the session is above the client now
			s.settle()
		}},
		{path: "L8", name: "A2A: a place that may know what is PUBLIC is notified of the task of a session that rises", act: func(s *scene) {
			row := s.low()
			s.has(s.messaged(masterToken, row, "one", s.rises()).body, `"kind":"task"`)
			s.has(s.session(row.ID).Taint, "CONFIDENTIAL")
			text := s.notified(row)
			s.has(text, `"withheld":"level"`, `"state":"completed"`)
			s.unseen("the notification", text)
			s.settle()
		}},
	}
}

// messaged asks an agent over A2A, and has the end of the task notified to a path with the session's id.
func (s *scene) messaged(token string, row sessionRow, id, order string) answer {
	s.t.Helper()
	body, err := json.Marshal(args{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": args{
		"message":       args{"kind": "message", "messageId": id, "contextId": row.ID, "role": "user", "parts": []args{{"kind": "text", "text": order}}},
		"configuration": args{"blocking": true, "pushNotificationConfig": args{"url": s.outside.notified.URL + "/" + row.ID}},
	}})
	require.NoError(s.t, err)
	return s.as(token, http.MethodPost, "/a2a/main", string(body))
}

// notified waits for a notification of the session's task.
func (s *scene) notified(row sessionRow) (text string) {
	s.t.Helper()
	s.until("a notification", func() bool {
		_, text, _ = strings.Cut(s.outside.posted.String(), "/"+row.ID+" ")
		return strings.Contains(text, "\n")
	})
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// calls has an agent called, by a client with the PUBLIC token that offers the function carry.
func (s *scene) calls(row sessionRow, stream string, orders ...string) answer {
	s.t.Helper()
	body, err := json.Marshal(args{
		"model": "main", "stream": stream == "true", "messages": []args{{"role": "user", "content": strings.Join(orders, "\n")}},
		"tools": []args{{"type": "function", "function": args{"name": "carry"}}},
	})
	require.NoError(s.t, err)
	return s.as(lowToken, http.MethodPost, "/v1/chat/completions", string(body), "X-Sluice-Session", row.ID)
}

// withheld has an agent answer a word and notes a leak for each way by which the API gives it to who has asked, to who follows and to who
// reads it later, and what the answer lacks that says that it is withheld.
func (s *scene) withheld(row sessionRow, begins string, says ...string) {
	s.t.Helper()
	word := fmt.Sprintf("%s-%dx", begins, s.n)
	order := `!say ` + base64.StdEncoding.EncodeToString([]byte("the word is "+word+", as you have asked"))
	post := func(name, accept string) answer {
		return s.as(lowToken, http.MethodPost, "/v1/sessions/"+row.ID+"/messages", `{"message":"`+order+`","id":"`+name+`"}`, "Accept", accept)
	}
	whole := post("one", "application/json")
	s.has(whole.body, append(says, `"withheld":{`, `"delivery":"dlv_`, `"decision":{"action":`)...)
	streamed := post("two", "text/event-stream")
	s.has(streamed.body, append(says, `"type":"run.done"`, `"withheld":{`)...)
	s.settle()
	var turn struct {
		Run string `json:"run_id"`
	}
	s.read(whole, &turn)
	look := func(path string, headers ...string) answer {
		return s.as(lowToken, http.MethodGet, path, "", headers...)
	}
	session := "/v1/sessions/" + row.ID
	as := func(path, body string) answer {
		return s.as(lowToken, http.MethodPost, path, `{"model":"main",`+body+`}`, "X-Sluice-Session", row.ID)
	}
	messages, input := `"messages":[{"role":"user","content":"`+order+`"}]`, `"input":"`+order+`"`
	completed, chunks := as("/v1/chat/completions", messages), as("/v1/chat/completions", `"stream":true,`+messages)
	response, events := as("/v1/responses", input), as("/v1/responses", `"stream":true,`+input)
	s.has(completed.body, `"finish_reason":"content_filter"`)
	s.has(chunks.body, `"finish_reason":"content_filter"`, "data: [DONE]")
	s.has(response.body, `"status":"incomplete"`)
	s.has(events.body, "event: response.incomplete")
	stored := look("/v1/responses/" + responseOf(turn.Run))
	s.has(stored.body, `"status":"incomplete"`)
	peer := func(method, params string) answer {
		return s.as(lowToken, http.MethodPost, "/a2a/main", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
	}
	sent, task := s.messaged(lowToken, row, "three", order), peer("tasks/get", `{"id":"`+turn.Run+`"}`)
	tasks := peer("message/stream", `{"message":{"kind":"message","messageId":"four","contextId":"`+row.ID+`","role":"user","parts":[{"kind":"text","text":"`+order+`"}]}}`)
	for _, a := range []string{sent.body, task.body, tasks.body, s.notified(row)} {
		s.has(a, `"state":"rejected"`, `"withheld":"`)
	}
	tool := s.as(lowToken, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sessions_send","arguments":{"sessionKey":"`+row.ID+`","message":"`+order+`"}}}`,
		"Accept", "application/json, text/event-stream")
	s.has(tool.body, `"withheld":{`)
	s.settle()
	run := look("/v1/runs/" + turn.Run + "?wait=1s")
	s.has(run.body, `"withheld":{`)
	history := look(session + "/history")
	s.has(history.body, `"withheld":{`)
	s.until("the stream to be told the ends", func() bool { return strings.Count(s.heard.String(), "event: run.done") >= 2 })
	said := map[string]string{
		"a chat completion": completed.body, "its chunks": chunks.body, "a response": response.body, "the events of a response": events.body, "the stored response": stored.body,
		"a task of another agent": sent.body, "the events of a task": tasks.body, "the stored task": task.body, "the notification of a task": s.notified(row), "the result of a tool": tool.body,
		"the turn": whole.body, "the turn's events": streamed.body, "the run": run.body, "the runs": look("/v1/runs").body, "the session's runs": look(session + "/runs").body,
		"the history": history.body, "the history on the page": s.as(masterToken, http.MethodGet, session+"/history", "", "Sluice-Client", "page").body,
		"the session's events": s.heard.String(), "the same message again": post("one", "application/json").body,
	}
	for _, where := range sortedKeys(said) { // the report names the first one
		if strings.Contains(said[where], word) {
			s.leak("%s: it has what the gate withholds", where)
		}
	}
}
