package attacks_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"sluice/policy"
)

// alertSettings tell a PUBLIC group of alerts, at once.
const alertSettings = `targets: { pager: { channel: telegram, to: "-29999" } }
alerts:
  route: { receiver: pager, group_by: [key], group_wait: 1ms, group_interval: 1s }
  receivers: [{ name: pager, targets: [pager] }]
`

// alarm reports an alert and gives its key.
func (s *scene) alarm(in sessionRow, a args) string {
	s.t.Helper()
	result := s.do(in, call("alert_fire", a))
	var made struct{ Key string }
	if err := json.Unmarshal([]byte(result), &made); err != nil || made.Key == "" {
		s.has(result, "an alert")
	}
	return made.Key
}

// told waits until the receiver of an alert was told of it, or not.
func (s *scene) told(key string) {
	s.t.Helper()
	s.until("an alert to be told", func() bool {
		var x struct{ Notifications []json.RawMessage }
		s.read(s.as(masterToken, http.MethodGet, "/v1/alerts/"+url.PathEscape(key), ""), &x)
		return len(x.Notifications) > 0
	})
	s.settle()
}

// alertAttacks report trouble and answer for it.
func alertAttacks() []attack {
	gate := []policy.Checkpoint{policy.CheckGate}
	see, change := []policy.Checkpoint{policy.CheckAlertsSee}, []policy.Checkpoint{policy.CheckAlertsChange}
	return []attack{
		{path: "L2", name: "an alert with the secret is sent to a PUBLIC group", without: gate, act: func(s *scene) {
			s.told(s.alarm(s.high(), args{"key": "leak-" + s.word(), "title": s.secret, "text": s.secret, "severity": "critical", "labels": args{"word": s.secret}}))
		}},
		{path: "L2", name: "an alert signals to a PUBLIC group by being withheld there", act: func(s *scene) {
			before := len(s.telegram.Sent(-29999))
			s.told(s.alarm(s.high(), args{"key": s.secret, "title": "hello", "severity": "critical"}))
			if now := s.telegram.Sent(-29999); len(now) > before {
				s.leak("telegram: a PUBLIC group was told of it: %s", now[len(now)-1].Text)
			}
		}},
		{path: "L2", name: "a session at PUBLIC looks at the alert of one at CONFIDENTIAL", without: see, act: func(s *scene) {
			low, high := s.low(), s.high()
			key := s.alarm(high, args{"key": "hidden-" + s.word(), "title": s.secret})
			for _, tool := range []string{"alert_ack", "alert_resolve"} {
				of := func(key string) string { return strings.ReplaceAll(s.do(low, call(tool, args{"key": key})), key, "X") }
				s.same(tool, of(key), of("nothing"))
			}
			s.unseen("alert_list", s.do(low, call("alert_list", args{"status": "all"})))
		}},
		{path: "L2", name: "a session at CONFIDENTIAL signals by the alert of one at PUBLIC", without: change, act: func(s *scene) {
			low, high := s.low(), s.high()
			key := s.alarm(low, args{"key": "signal-" + s.word(), "title": "hello"})
			for _, tool := range []string{"alert_ack", "alert_resolve"} {
				s.has(s.do(high, call(tool, args{"key": key})), "CONFIDENTIAL", "PUBLIC", "/new")
			}
			s.alarm(high, args{"key": "signal-" + s.word(), "title": "hello"}) // the same name, another alert
			list := s.do(low, call("alert_list", args{"status": "all", "filter": `key="` + key + `"`}))
			if !strings.Contains(list, `"status":"firing"`) || !strings.Contains(list, `"occurrences":1`) {
				s.leak("alert_list of a session at PUBLIC: the alert has changed: %s", list)
			}
			s.do(low, call("alert_resolve", args{"key": key}))
		}},
		{path: "L2", name: "a stranger in a group has people woken", act: func(s *scene) {
			s.grouped()
			s.telegram.Say(s.group(), s.guest(), call("alert_fire", args{"key": "spam", "title": "buy at my shop", "severity": "critical"}))
			s.decided()
			if strings.Contains(s.as(masterToken, http.MethodGet, "/v1/alerts?limit=200&status=all", "").body, "buy at my shop") {
				s.leak("an alert was reported for a stranger")
			}
		}},
	}
}

// alarmAttacks are about alerts that a hook reports at CONFIDENTIAL.
func alarmAttacks() []attack {
	gate := []policy.Checkpoint{policy.CheckGate}
	return []attack{
		{path: "L2", name: "hook: an alert with the secret is sent to a PUBLIC group", without: gate, act: func(s *scene) {
			s.hooks("alarm", args{"key": s.word(), "title": s.secret, "text": s.secret, "severity": "critical"})
			s.told("hook/alarm/" + s.word())
			s.unseen("alerts for the low token", s.as(lowToken, http.MethodGet, "/v1/alerts?limit=200&status=all", "").body)
			s.unseen("requests for the low token", s.as(lowToken, http.MethodGet, "/v1/hooks/alarm/requests", "").body)
		}},
		{path: "L2", name: "commands in a PUBLIC group find out the key of an alert", act: func(s *scene) {
			s.grouped()
			s.hooks("alarm", args{"key": s.word(), "title": "hello", "severity": "critical"})
			s.told("hook/alarm/" + s.word())
			for _, command := range []string{"/ack ", "/resolve ", "/silence "} {
				answer := func(name string) string {
					before := len(s.telegram.Sent(s.group().ID))
					s.say(s.group(), s.owner(), command+name)
					var all []string
					for _, m := range s.telegram.Sent(s.group().ID)[before:] {
						all = append(all, strings.ReplaceAll(m.Text, name, "<name>"))
					}
					return strings.Join(all, "\n")
				}
				s.same(command, answer("hook/alarm/"+s.word()), answer("nothing"))
			}
		}},
	}
}
