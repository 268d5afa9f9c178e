package attacks_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"sluice/adapters/slack/slacktest"
)

// limitAttacks reach limits, to learn from them what is said above.
func limitAttacks() []attack {
	return []attack{
		{path: "L5", name: "limits: a token reaches its limit, and asks for what is hidden", act: func(s *scene) {
			hidden := s.high()
			saved := s.save(s.edit("limits.perToken", "1/1h"))
			defer s.takeBack(saved)
			s.read(s.as(lowToken, http.MethodGet, "/v1/sessions", ""), nil)
			for _, path := range []string{"", "/history", "/runs"} {
				told := func(id string) string {
					a := s.as(lowToken, http.MethodGet, "/v1/sessions/"+id+path, "")
					s.has(a.body, "this token made more than 1 requests in ")
					text, _, _ := strings.Cut(a.body, "; try again in ")
					return fmt.Sprint(a.status, text)
				}
				s.same("a session", told(hidden.ID), told("ses_absent"))
			}
		}},
		{path: "L15", name: "limits: a caller and a chat reach the limit of an agent with which others speak, above them", act: func(s *scene) {
			at, row := s.room(), s.low()
			s.grouped()
			saved := s.save(s.edit("limits.perAgent", "2/1h"))
			defer s.takeBack(saved)
			for n := range 3 {
				s.onSlackAt(slacktest.Line{Channel: at, User: s.slackGuest(), Text: slackMention + fmt.Sprint("hello ", n)}) // INTERNAL
			}
			if !slices.ContainsFunc(s.slack.Shown(at), func(m slacktest.Message) bool { return strings.Contains(m.Text, limitNotice) }) {
				s.lacks = append(s.lacks, "slack: the guest was not told of the limit")
			}
			for n, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
				a := s.tellAs(lowToken, row, "PUBLIC", "hello")
				if a.status != want {
					s.leak("the limit of the agent: message %d of the low token has status %d: what is said above counts for it: %s", n+1, a.status, a.body)
				}
			}
			s.say(s.group(), s.guest(), "and I?")
			s.has(s.shown(s.group()), limitNotice)
			of := func(token string) string { return s.as(token, http.MethodGet, "/v1/refused", "").body }
			s.until("the refusals to be stored", func() bool { return strings.Contains(of(masterToken), s.slackGuest()) })
			for _, above := range []string{s.slackGuest(), at} {
				if strings.Contains(of(lowToken), above) {
					s.leak("the list of refused people names %s for the low token", above)
				}
			}
		}},
	}
}

// limitNotice is what people are told of the limit of an agent.
const limitNotice = "I can't accept more messages at the moment"
