package attacks_test

import (
	"encoding/json"
	"net/http"
	"strings"

	"sluice/policy"
)

// job makes a job that is due in a day, and gives its id.
func (s *scene) job(in sessionRow, a args) string {
	s.t.Helper()
	a["in"] = "24h"
	return s.jobIn(s.do(in, call("cron_add", a)))
}

// jobIn is the id of the job that the result of a call shows.
func (s *scene) jobIn(result string) string {
	s.t.Helper()
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(result), &made); err != nil || made.ID == "" {
		s.has(result, "a job")
	}
	return made.ID
}

// fire fires a job now, and waits until it has ended.
func (s *scene) fire(in sessionRow, id string) {
	s.t.Helper()
	s.has(s.do(in, call("cron_run", args{"id": id})), `"fired":true`)
	s.over(id)
}

// over waits until a job that was fired by hand has ended.
func (s *scene) over(id string) {
	s.t.Helper()
	s.until("the job to end", func() bool {
		var h struct {
			Instants []struct{ Status, By string }
		}
		s.read(s.as(masterToken, http.MethodGet, "/v1/cron/"+id+"/history", ""), &h)
		for _, i := range h.Instants {
			if i.By != "" {
				return i.Status == "ok" || i.Status == "failed" || i.Status == "undelivered" || i.Status == "skipped"
			}
		}
		return false
	})
	s.settle()
}

// jobAttacks begin work at another time.
func jobAttacks() []attack {
	gate := []policy.Checkpoint{policy.CheckGate}
	see, change := []policy.Checkpoint{policy.CheckJobsSee}, []policy.Checkpoint{policy.CheckJobsChange}
	return []attack{
		{path: "L2", name: "the text of a job is delivered to a PUBLIC group", without: gate, act: func(s *scene) {
			high := s.high()
			s.fire(high, s.job(high, args{"text": s.secret, "deliver": args{"to": []string{"telegram:" + s.groupID()}}}))
		}},
		{path: "L2", name: "a job reaches a PUBLIC group as the fallback of another target", act: func(s *scene) {
			high := s.high()
			s.fire(high, s.job(high, args{"text": s.secret, "deliver": args{"to": []string{"telegram:nobody-" + s.secret}, "fallback": []string{"telegram:" + s.groupID()}}}))
		}},
		{path: "L2", name: "the prompt of a job sends the secret to a public session", without: []policy.Checkpoint{policy.CheckSessionsSend}, act: func(s *scene) {
			low, high := s.low(), s.high()
			s.fire(high, s.job(high, args{"prompt": "the word is " + s.secret + "\n" + drop(low.Key, s.secret), "deliver": args{"to": []string{"none"}}}))
			s.untouched(low)
		}},
		{path: "L2", name: "the key of a job's session is made of the secret", act: func(s *scene) {
			low, high := s.low(), s.high()
			s.fire(high, s.job(high, args{"name": s.secret, "prompt": "hello", "deliver": args{"to": []string{"none"}}}))
			s.unseen("sessions of a session at PUBLIC", s.do(low, call("sessions_list", args{})))
		}},
		{path: "L2", name: "a session at PUBLIC looks at the job of one at CONFIDENTIAL", without: see, act: func(s *scene) {
			low, high := s.low(), s.high()
			id := s.job(high, args{"name": s.secret, "text": s.secret})
			look := func(tool, id string) string { return s.do(low, call(tool, args{"id": id})) }
			for _, tool := range []string{"cron_show", "cron_history", "cron_pause", "cron_resume", "cron_run", "cron_remove"} {
				got := look(tool, id)
				s.unseen(tool, got)
				s.same(tool, strings.ReplaceAll(got, id, "X"), strings.ReplaceAll(look(tool, "nothing"), "nothing", "X"))
			}
			s.same("cron_update", strings.ReplaceAll(s.do(low, call("cron_update", args{"id": id, "text": "x"})), id, "X"),
				strings.ReplaceAll(s.do(low, call("cron_update", args{"id": "nothing", "text": "x"})), "nothing", "X"))
			s.unseen("cron_list", s.do(low, call("cron_list", args{})))
		}},
		{path: "L2", name: "a session at CONFIDENTIAL signals by the job of one at PUBLIC", without: change, act: func(s *scene) {
			low, high := s.low(), s.high()
			id := s.job(low, args{"text": "hello"})
			before := s.do(low, call("cron_show", args{"id": id}))
			s.has(before, `"state":"active"`)
			for _, tool := range []string{"cron_pause", "cron_run", "cron_remove"} {
				s.has(s.do(high, call(tool, args{"id": id})), "CONFIDENTIAL", "PUBLIC", "/new")
			}
			s.do(high, call("cron_update", args{"id": id, "text": s.secret}))
			s.same("cron_show", s.do(low, call("cron_show", args{"id": id})), before)
			s.do(low, call("cron_remove", args{"id": id}))
		}},
		{path: "L2", name: "a stranger in a group makes a job that writes to others", act: func(s *scene) {
			s.grouped()
			s.telegram.Say(s.group(), s.guest(), call("cron_add", args{"name": "shop", "text": "buy at my shop", "in": "24h", "deliver": args{"to": []string{"telegram:1"}}}))
			s.decided()
			if strings.Contains(s.as(masterToken, http.MethodGet, "/v1/cron?limit=200", "").body, "buy at my shop") {
				s.leak("a job for another conversation was made for a stranger")
			}
		}},
		{path: "L2", name: "a job makes jobs, without a bound", act: func(s *scene) {
			low := s.low()
			id := s.job(low, args{"prompt": call("cron_add", args{"name": "more", "text": "x", "in": "24h"}), "deliver": args{"to": []string{"none"}}})
			s.fire(low, id)
			if strings.Contains(s.do(low, call("cron_list", args{})), `"more-`) {
				s.leak("a job has made a job")
			}
			s.do(low, call("cron_remove", args{"id": id}))
		}},
	}
}
