package cli_test

import "testing"

func TestAlerts(t *testing.T) {
	t.Parallel()
	const one = `{"key":"a/b","ref":"al-1","status":"acknowledged","severity":"critical","source":"api","title":"Disk\nfull","text":"97 %","labels":{"service":"db","host":"x"},
		"links":[{"url":"https://wiki/disk"}],"label":"PUBLIC/trusted","started":"2026-04-26T17:03:16Z","occurrences":2,"by":"operator","at":"2026-04-26T17:03:16Z","silenced_by":["s1"],
		"silences":[{"id":"s0","author":"ann","ends":"2026-04-26T18:03:16Z"},{"id":"s1","author":"operator","ends":"2026-04-26T19:03:16Z"}],
		"told":[{"target":"owner","status":"queued","created":"2026-04-26T17:03:16Z"},{"target":"ops","status":"waiting","created":"2026-04-26T17:00:16Z"}],
		"notifications":[{"target":"owner","reason":"escalation","step":2,"status":"queued","delivery":"dlv_2","delivery_status":"sent","created":"2026-04-26T17:03:16Z"},
		{"target":"ops","reason":"first","step":1,"status":"queued","delivery":"dlv_1","withheld":true,"edit":true,"why":"w","created":"2026-04-26T17:03:16Z"}]}`
	const shown = `key              a/b
short name       al-1
status           acknowledged
severity         critical
source           api
label            PUBLIC/trusted
occurrences      2
started          1h ago
acknowledged by  operator 1h ago
silenced by      s1

Disk
full
97 %
host=x
service=db
link: https://wiki/disk

NOTIFIED  REASON        STEP  STATUS  DELIVERY  WHY                AT
owner     escalation    2     sent    dlv_2     -                  1h ago
ops       first (edit)  1     queued  dlv_1     w; withheld there  1h ago
`
	check(t, map[string]command{
		`alerts list --filter a="b" --filter c=d --limit 1`: {
			asks: "GET /v1/alerts?filter=a%3D%22b%22&filter=c%3Dd&limit=1", answer: `{"alerts":[` + one + `]}`, next: "a/b",
			out: "KEY  SEVERITY  STATUS        NOTIFIED                     QUIET                                            TITLE      SOURCE  STARTED\n" +
				"a/b  critical  acknowledged  owner, ops (waiting) 1h ago  silenced by operator until 2026-04-26T19:03:16Z  Disk full  api     1h ago\nMore results: repeat the command with --after a/b\n",
		},
		"alerts list --status all": {asks: "GET /v1/alerts?limit=50&status=all", answer: `{"alerts":[]}`, out: "No alerts found. \"--status all\" includes alerts that have ended.\n"},
		"alerts show a/b":          {asks: "GET /v1/alerts/a%2Fb", answer: one, out: shown},
		"alerts ack a/b":           {asks: "POST /v1/alerts/a%2Fb/ack", answer: one, out: "a/b is acknowledged by operator\n"},
		"alerts resolve a":         {asks: "POST /v1/alerts/a/resolve", answer: `{"key":"a","status":"resolved","by":"operator"}`, out: "a is resolved by operator\n"},
		"alerts fire a --severity error --title T --text x --label INTERNAL --set service=db": {
			asks: `POST /v1/alerts {"key":"a","label":"INTERNAL","labels":{"service":"db"},"severity":"error","text":"x","title":"T"}`, answer: `{"key":"a","ref":"al-1"}`, out: "a is reported (al-1)\n",
		},
		"alerts test --severity critical --source s --set a=b": {
			asks:   `POST /v1/alerts/test {"labels":{"a":"b"},"severity":"critical","source":"s"}`,
			answer: `{"ways":[{"route":"0/1","receiver":"oncall","group_wait":"30s","quiet":true,"steps":[{"notify":["ops"]},{"wait":"10m0s","notify":["owner","tom"],"repeat":3}]}],"inhibited_by":["z"]}`,
			out:    "route 0/1: receiver oncall after 30s, quiet at present\n  1. notify ops\n  2. notify owner, tom after 10m0s without an acknowledgement, repeated 3 times\ninhibited by  z\n",
		},
		"alerts silence a --for 2h --comment c": {
			asks: `POST /v1/alerts/a/silence {"comment":"c","for":"2h"}`, answer: `{"id":"s1","matchers":["key=\"a\""],"ends":"2026-04-26T19:03:16Z"}`, out: "s1: key=\"a\" quiet until 2026-04-26T19:03:16Z\n",
		},
		"alerts silence --match a=b --match c!=d": {
			asks: `POST /v1/silences {"for":"1h","matchers":["a=b","c!=d"]}`, answer: `{"id":"s1","matchers":["a=\"b\""],"ends":"2026-04-26T19:03:16Z"}`, out: "s1: a=\"b\" quiet until 2026-04-26T19:03:16Z\n",
		},
		"alerts groups list": {
			asks: "GET /v1/alert-groups?limit=50", answer: `{"groups":[{"group":"ops.0.1f","receiver":"ops","labels":{"service":"db","host":"x"},"severity":"error","firing":2,"acknowledged":1,"silenced":1,"inhibited":1,"muted":true,"step":1,"steps":3,
				"told":[{"target":"ops","status":"queued","created":"2026-04-26T17:03:16Z"}],"next":{"at":"2026-04-26T19:03:16Z","reason":"escalation","step":2,"targets":["owner","tom"]}},{"group":"b","firing":1}]}`,
			out: "GROUP     SEVERITY  ALERTS                    LABELS             QUIET                                 STEP    NOTIFIED    NEXT\n" +
				"ops.0.1f  error     2 firing, 1 acknowledged  host=x service=db  by schedule, 1 silenced, 1 inhibited  1 of 3  ops 1h ago  2026-04-26T19:03:16Z to owner, tom (escalation)\n" +
				"b         -         1 firing                  -                  -                                     -       -           -\n",
		},
		"alerts groups list --limit 1": {asks: "GET /v1/alert-groups?limit=1", answer: `{"groups":[]}`, out: "No open alert groups found.\n"},
		"alerts groups show ops.0.1f": {
			asks: "GET /v1/alert-groups/ops.0.1f", answer: `{"group":"ops.0.1f","receiver":"ops","route":"0","label":"PUBLIC/trusted","opened":"2026-04-26T17:03:16Z","ended":1,
				"alerts":[{"key":"a","severity":"error","status":"resolved","source":"api","started":"2026-04-26T17:03:16Z"}]}`,
			out: "group     ops.0.1f\nreceiver  ops\nroute     0\nlabel     PUBLIC/trusted\nopened    1h ago\nalerts    1 ended\n\n" +
				"KEY  SEVERITY  STATUS    QUIET  TITLE  SOURCE  STARTED\na    error     resolved  -      -      api     1h ago\n\nNobody has been notified yet.\n",
		},
		"alerts silences list --state all": {
			asks: "GET /v1/silences?limit=50&state=all", answer: `{"silences":[{"id":"s1","state":"active","matchers":["a=\"b\"","c=\"d\""],"author":"x","comment":"y","ends":"2026-04-26T19:03:16Z"}]}`,
			out: "ID  STATE   MATCHERS     AUTHOR  COMMENT  ENDS\ns1  active  a=\"b\" c=\"d\"  x       y        2026-04-26T19:03:16Z\n",
		},
		"alerts silences expire s1": {asks: "DELETE /v1/silences/s1", out: "s1 has ended\n"},
	})
}
