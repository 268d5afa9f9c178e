package attacks_test

import (
	"encoding/base64"
	"net/http"
	"strings"

	"sluice/policy"
)

// says makes the model say a text, word for word.
func says(text string) string {
	return "!say " + base64.StdEncoding.EncodeToString([]byte(text))
}

// send is a call of sessions_send that waits for the answer.
func send(to sessionRow, text string) string {
	return call("sessions_send", args{"sessionKey": to.Key, "message": text, "timeoutSeconds": 20})
}

// drop is a call of sessions_send that does not wait.
func drop(to, text string) string {
	return call("sessions_send", args{"sessionKey": to, "message": text, "timeoutSeconds": 0})
}

// rises is a call that brings in what is CONFIDENTIAL: the secret of the scene.
func (s *scene) rises() string { return call("mcp_high_tell", args{"text": s.word()}) }

// taskAttacks give work to sub-agents and to other agents.
func taskAttacks() []attack {
	send1 := []policy.Checkpoint{policy.CheckSessionsSend}
	return []attack{
		{path: "L1", name: "a sub-agent that was told the secret in its task sends it to a public session", without: send1, act: func(s *scene) {
			low, high := s.low(), s.high()
			s.has(s.do(high, call("sessions_spawn", args{"task": "the word is " + s.secret + "\n" + drop(low.Key, s.secret)})), "accepted")
			s.untouched(low)
		}},
		{path: "L1", name: "the task of a sub-agent of another agent", without: send1, act: func(s *scene) {
			low, high := s.low(), s.high()
			s.has(s.do(high, call("sessions_spawn", args{"agentId": "ops", "task": s.secret + "\n" + drop(low.Key, s.secret)})), "accepted")
			s.untouched(low)
		}},
		{path: "L1", name: "the name of a task", act: func(s *scene) {
			low, high := s.low(), s.high()
			s.do(high, call("sessions_spawn", args{"label": s.secret, "task": "hello"}))
			s.settle()
			s.unseen("status", s.do(low, call("session_status", args{}), call("sessions_list", args{})))
		}},
		{path: "L1", name: "a sub-agent that works with a model that may be told what is PUBLIC", without: []policy.Checkpoint{policy.CheckModel}, act: func(s *scene) {
			s.do(s.high(), call("sessions_spawn", args{"model": "cheap/m", "task": "the word is " + s.secret}))
		}},
		{path: "L1", name: "a task over HTTP with a model that may be told what is PUBLIC", without: []policy.Checkpoint{policy.CheckModel}, act: func(s *scene) {
			high := s.high()
			s.read(s.as(masterToken, http.MethodPost, "/v1/sessions/"+high.ID+"/tasks", `{"model":"cheap/m","label":"CONFIDENTIAL","task":"`+s.secret+`"}`), nil)
		}},
		{path: "L1", name: "a sub-agent of a group learns what the group may not", act: func(s *scene) {
			s.grouped()
			s.say(s.group(), s.guest(), call("sessions_spawn", args{"task": s.rises()}))
		}},
		{path: "L1", name: "the report of a sub-agent that has risen reaches the public chat of who has started it", without: []policy.Checkpoint{policy.CheckGate}, act: func(s *scene) {
			s.say(s.private(), s.owner(), call("sessions_spawn", args{"task": s.rises()}))
		}},
		{path: "L1", name: "a sub-agent that ends at once leaves nothing behind", act: func(s *scene) {
			s.do(s.high(), call("sessions_spawn", args{"cleanup": "delete", "task": "the word is " + s.secret}))
		}},
		{path: "L2", name: "no tool makes hooks", act: func(s *scene) {
			s.has(s.do(s.high(), call("hook_add", args{"text": s.secret})), `there is no tool "hook_add"`)
			for _, tool := range s.tools() {
				if strings.HasPrefix(tool, "hook") {
					s.leak("there is %s: attacks on it are missing here", tool)
				}
			}
		}},
		{path: "L1", name: "send: a public session is sent the secret", without: send1, act: func(s *scene) {
			low, high := s.low(), s.high()
			s.has(s.do(high, send(low, s.secret)), "CONFIDENTIAL", "PUBLIC", "/raise", "/new")
			s.untouched(low)
		}},
		{path: "L1", name: "send: a session without the right to know is begun with the secret", without: send1, act: func(s *scene) {
			s.has(s.do(s.high(), drop("agent:thrifty:main", s.secret)), "CONFIDENTIAL", "PUBLIC")
			for _, row := range s.made() {
				if row.Key == "agent:thrifty:main" {
					s.leak("sessions: one was begun with what it may not know")
				}
			}
		}},
		{path: "L1", name: "send: a group is sent the secret", without: send1, act: func(s *scene) {
			group, high := s.grouped(), s.high()
			s.has(s.do(high, send(group, s.secret)), "CONFIDENTIAL", "PUBLIC")
		}},
		{path: "L1", name: "send: by the session's id", without: send1, act: func(s *scene) {
			low, high := s.low(), s.high()
			s.has(s.do(high, drop(low.ID, s.secret)), "CONFIDENTIAL", "PUBLIC")
			s.untouched(low)
		}},
		{path: "L1", name: "reply: who is asked rises while it works and answers with the secret", without: []policy.Checkpoint{policy.CheckSessionsReply}, act: func(s *scene) {
			low, other := s.low(), s.low()
			got := s.do(low, send(other, s.rises()))
			s.unseen("reply to a session at PUBLIC", got)
			if strings.Contains(got, `"status":"ok"`) {
				s.leak("reply to a session at PUBLIC: it was told that the other one is done")
			}
		}},
		{path: "L1", name: "ping-pong: one side rises in a later turn", without: []policy.Checkpoint{policy.CheckExchangeStep}, act: func(s *scene) {
			low, other := s.low(), s.low()
			s.do(low, send(other, says(says(s.rises()))))
			s.settle()
			s.unseen("transcript of the requester", s.as(masterToken, http.MethodGet, "/v1/sessions/"+low.ID+"/history", "").body)
		}},
		{path: "L8", name: "announce: the other side tells its public group", without: []policy.Checkpoint{policy.CheckGate}, act: func(s *scene) {
			private := s.raised()
			s.say(s.private(), s.owner(), says("noted")) // so that this is where it was last spoken to
			s.has(s.do(s.high(), send(private, s.secret)), `"status":"ok"`)
		}},
		{path: "L1", name: "send: by way of a third session that may be told", without: send1, act: func(s *scene) {
			low, high, third := s.low(), s.high(), s.high("ops")
			s.do(high, send(third, drop(low.Key, s.secret)))
			s.untouched(low)
		}},
		{path: "L1", name: "summarize: a session of another agent is told a summary", without: send1, act: func(s *scene) {
			low, high := s.low(), s.high()
			s.do(high, call("summarize", args{}), drop(low.Key, "a summary: "+s.secret))
			s.untouched(low)
		}},
	}
}
