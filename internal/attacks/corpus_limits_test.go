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
		{path: "L15", name: "limits: a person reaches their limit in a chat above, and writes in a group below", act: func(s *scene) {
			at := s.room()
			s.grouped()
			linked := args{fmt.Sprint("eve", s.n): []string{"slack:" + s.slackGuest(), fmt.Sprint("telegram:", s.guest().ID)}}
			saved := s.save(s.edits(args{"path": "session.identityLinks", "value": linked}, args{"path": "limits.perPerson", "value": "2/1h"}))
			defer s.takeBack(saved)
			for n := range 3 {
				s.onSlackAt(slacktest.Line{Channel: at, User: s.slackGuest(), Text: slackMention + fmt.Sprint("hello ", n)}) // INTERNAL
			}
			if !slices.ContainsFunc(s.slack.Shown(at), func(m slacktest.Message) bool { return strings.Contains(m.Text, personNotice) }) {
				s.lacks = append(s.lacks, "slack: the guest was not told of the limit")
			}
			for range 2 {
				s.say(s.group(), s.guest(), "and here?")
			}
			if strings.Contains(s.shown(s.group()), personNotice) {
				s.leak("telegram: what the guest said above counts in a group below")
			}
			s.say(s.group(), s.guest(), "and again?")
			s.has(s.shown(s.group()), personNotice)
			s.say(s.group(), s.owner(), "am I limited")
			s.has(s.as(masterToken, http.MethodGet, "/v1/sessions/"+s.session(s.groupKey()).ID+"/runs", "").body, "am I limited")
			if body := s.as(lowToken, http.MethodGet, "/v1/refused", "").body; strings.Contains(body, s.slackGuest()) || strings.Contains(body, at) {
				s.leak("the list of refused people names who was refused above, for the low token: %s", body)
			}
		}},
		{path: "L15", name: "limits: a conversation reaches its limit above, and a caller speaks to it below, before and after /new", act: func(s *scene) {
			s.say(s.private(), s.owner(), "hello")
			row := s.session(s.privateKey())
			var above struct{ Token string }
			s.read(s.as(masterToken, http.MethodPost, "/v1/tokens", fmt.Sprintf(`{"name":"above-%d","role":"operator","level":"CONFIDENTIAL"}`, s.n)), &above)
			saved := s.save(s.edit("limits.perConversation", "2/1h"))
			defer s.takeBack(saved)
			for n, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
				if a := s.tellAs(above.Token, row, "CONFIDENTIAL", "hello"); a.status != want {
					s.lacks = append(s.lacks, fmt.Sprintf("message %d above has status %d, not %d: %s", n+1, a.status, want, a.body))
				}
			}
			told := func(id string) string {
				a := s.tellAs(lowToken, sessionRow{ID: id}, "PUBLIC", "hello")
				return fmt.Sprint(a.status, strings.ReplaceAll(a.body, id, ""))
			}
			s.same("a conversation at its limit", told(row.ID), told("ses_absent"))
			s.say(s.private(), s.owner(), "/new") // the next session of the conversation is PUBLIC again
			for n, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests, http.StatusTooManyRequests} {
				if n == 3 {
					s.say(s.private(), s.owner(), "/new")
				}
				if a := s.tellAs(lowToken, s.session(s.privateKey()), "PUBLIC", "hello"); a.status != want {
					s.leak("message %d below has status %d, not %d: what is said above counts for it, or /new is a way around the limit: %s", n+1, a.status, want, a.body)
				}
			}
		}},
	}
}

// personNotice is what people are told of their own limit.
const personNotice = "You sent more than 2 messages in "

// limitNotice is what people are told of the limit of an agent.
const limitNotice = "I can't accept more messages at the moment"
