package attacks_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/stretchr/testify/require"

	"sluice/policy"
)

// exactCount is a number of tokens as only an owner is told it.
var exactCount = regexp.MustCompile(`tokens(: | in: | out: )[0-9]`)

// settingAttacks leave it in what can be set, or in how much, and have the gateway itself say it where everybody reads it: in the answers
// to commands, and in what it tells a session of a decision.
func settingAttacks() []attack {
	quote := []policy.Checkpoint{policy.CheckQuote}
	return []attack{
		{path: "L7", name: "the name of a model that there is not", act: func(s *scene) {
			row := s.raised()
			s.say(s.private(), s.owner(), call("session_status", args{"model": "p/" + s.secret}))
			s.say(s.private(), s.owner(), call("session_status", args{"model": "offline/slow-" + strings.Trim(s.secret, "zincquart") + "s"}))
			s.say(s.private(), s.owner(), call("sessions_spawn", args{"task": "hello", "model": "p/" + s.secret}))
			s.say(s.private(), s.owner(), "/status")
			s.say(s.private(), s.owner(), "/model")
			if model := s.session(row.ID).Model; model != "p/m" {
				s.leak("model: the session has been given %q", model)
			}
			s.say(s.private(), s.owner(), "/new")
		}},
		{path: "L7", name: "one of two models that there are", without: quote, act: func(s *scene) {
			row := s.raised()
			s.say(s.private(), s.owner(), call("session_status", args{"model": "p/other"}))
			s.has(s.session(row.ID).Model, "p/other")
			before := len(s.telegram.Sent(s.private().ID))
			for _, command := range []string{"/status", "/model"} {
				s.say(s.private(), s.owner(), command)
			}
			for _, m := range s.telegram.Sent(s.private().ID)[before:] {
				if strings.Contains(m.Text, "p/other") {
					s.leak("command: it says which model was chosen: %s", m.Text)
				}
			}
			s.say(s.private(), s.owner(), "/new")
		}},
		{path: "L7", name: "how many tokens were used", without: quote, act: func(s *scene) {
			s.raised()
			before := len(s.telegram.Sent(s.private().ID))
			s.say(s.private(), s.owner(), "/usage")
			s.say(s.private(), s.owner(), "/status")
			for _, m := range s.telegram.Sent(s.private().ID)[before:] {
				if exactCount.MatchString(m.Text) {
					s.leak("command: it says how many tokens: %s", m.Text)
				}
			}
			s.say(s.private(), s.owner(), "/new")
		}},
		{path: "L7", name: "sub-agents, their agents and their order", act: func(s *scene) {
			s.raised()
			s.say(s.private(), s.owner(), call("sessions_spawn", args{"task": "hello", "agentId": "ops", "label": s.secret})+"\n"+call("sessions_spawn", args{"task": "hello", "agentId": "thrifty"}))
			before := len(s.telegram.Sent(s.private().ID))
			s.say(s.private(), s.owner(), "/subagents")
			for _, m := range s.telegram.Sent(s.private().ID)[before:] {
				if strings.Contains(m.Text, "agent ops") || strings.Contains(m.Text, "agent thrifty") {
					s.leak("/subagents: it says who works: %s", m.Text)
				}
			}
			s.say(s.private(), s.owner(), "/new")
		}},
		{path: "L11", name: "what is left of a rate that all sessions of an agent share", without: []policy.Checkpoint{policy.CheckRate}, act: func(s *scene) {
			low, high := s.low(), s.high()
			counted := call("todo_add", args{"items": []string{"counted"}})
			s.has(s.do(high, counted, counted, counted, counted), "refused: ")
			if got := s.do(low, counted); strings.Contains(got, "refused: ") {
				s.leak("refusal: it says how often others above have called the tool: %s", got)
			}
		}},
		{path: "L7", name: "why a call was denied, said where more may be said", without: quote, act: func(s *scene) {
			s.telegram.Say(s.private(), s.owner(), call("todo_add", args{"items": []string{"ask somebody"}}))
			reason := fmt.Sprint("because of case ", s.n)
			s.slack.Say(1, "/approve "+s.asks()+" deny "+reason) // what is said there is INTERNAL
			s.settle()
			if shown := s.shown(s.private()); strings.Contains(shown, reason) {
				s.leak("chat: it says why: %s", shown)
			}
			s.say(s.private(), s.owner(), "/new")
		}},
		{path: "L7", name: "the tool of a call that was decided about elsewhere", without: quote, act: func(s *scene) {
			row := s.low()
			s.tell(row, "CONFIDENTIAL", s.secret)
			started := s.start(row, call("todo_add", args{"items": []string{"ask somebody"}}))
			asked := s.asks()
			before := len(s.telegram.Sent(s.private().ID))
			s.telegram.Say(s.private(), s.owner(), "/approve "+asked+" deny")
			<-started
			s.settle()
			for _, m := range s.telegram.Sent(s.private().ID)[before:] {
				if strings.Contains(m.Text, "todo_add") {
					s.leak("/approve: it says which tool it was: %s", m.Text)
				}
			}
		}},
		{path: "L7", name: "the arguments of a call that was asked about elsewhere, tried with patterns of a rule", without: quote, act: func(s *scene) {
			row := s.low()
			s.tell(row, "CONFIDENTIAL", s.secret)
			started := s.start(row, call("todo_add", args{"items": []string{"ask somebody"}}))
			asked := s.asks()
			var answers []string
			for _, pattern := range []string{"items=*", "items=a*", "other=*"} {
				n := len(s.telegram.Sent(s.private().ID))
				s.telegram.Say(s.private(), s.owner(), "/approve "+asked+" always "+pattern)
				sent, err := s.telegram.WaitSent(s.t.Context(), s.private().ID, n+1)
				require.NoError(s.t, err)
				answers = append(answers, sent[n].Text)
			}
			s.telegram.Say(s.private(), s.owner(), "/approve "+asked+" deny")
			<-started
			s.settle()
			s.same("a pattern that fits and one that does not", answers[0], answers[1])
			s.same("a known and an unknown argument", answers[0], answers[2])
		}},
	}
}

// asks waits until somebody is asked about a call, and names the approval.
func (s *scene) asks() string {
	s.t.Helper()
	var list struct{ Approvals []struct{ ID string } }
	s.until("the question", func() bool {
		s.read(s.as(masterToken, http.MethodGet, "/v1/approvals", ""), &list)
		return len(list.Approvals) > 0
	})
	return list.Approvals[0].ID
}

// start says something in a session whose answer waits for others. The channel is closed when it has come.
func (s *scene) start(to sessionRow, text string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.tell(to, "PUBLIC", text)
	}()
	return done
}
