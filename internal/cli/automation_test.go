package cli_test

import "testing"

const jobAnswer = `{"id":"standup","state":"active","origin":"file","place":"sluice.yaml:12","when":"45 9 * * mon-fri","next":"2026-04-27T09:45:00Z","to":["team","owner"],"text":"Stand\u001b-up","label":"PUBLIC/trusted"}`

func TestJobs(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"cron list": {
			asks: "GET /v1/cron?limit=50", answer: `{"jobs":[` + jobAnswer + `]}`, next: "standup",
			out: "ID       STATE   ORIGIN  WHEN              NEXT                  TO          TEXT\nstandup  active  file    45 9 * * mon-fri  2026-04-27T09:45:00Z  team,owner  Stand\\u001b-up\nMore results: repeat the command with --after standup\n",
		},
		"cron list --state paused": {asks: "GET /v1/cron?limit=50&state=paused", answer: `{"jobs":[]}`, out: "No jobs found. Add them under \"cron\" in the configuration, or ask an agent.\n"},
		"cron show standup":        {asks: "GET /v1/cron/standup", answer: jobAnswer, out: "id      standup\nstate   active\norigin  file sluice.yaml:12\nwhen    45 9 * * mon-fri\nnext    2026-04-27T09:45:00Z\nto      team, owner\nlabel   PUBLIC/trusted\n\nStand\\u001b-up\n"},
		"cron history standup": {
			asks:   "GET /v1/cron/standup/history?limit=50",
			answer: `{"instants":[{"instant":"2026-04-24T09:45:00Z","status":"ok","by":"schedule","run":"run_1","input":10,"output":2,"deliveries":[{"target":"team","state":"sent","delivery":"dlv_1"},{"target":"owner","state":"failed","error":"blocked"}]},{"instant":"2026-04-23T09:45:00Z","status":"missed","missed":3,"why":"the gateway did not run"}]}`,
			out:    "TIME                  STATUS          BY        RUN    TOKENS  DELIVERIES                               WHY\n2026-04-24T09:45:00Z  ok              schedule  run_1  -       team sent dlv_1, owner failed (blocked)  -\n2026-04-23T09:45:00Z  missed 3 times  -         -      -       -                                        the gateway did not run\n",
		},
		"cron pause standup":  {asks: "POST /v1/cron/standup/pause", answer: jobAnswer, out: "standup is paused\n"},
		"cron resume standup": {asks: "POST /v1/cron/standup/resume", answer: jobAnswer, out: "standup is resumed\n"},
		"cron run standup":    {asks: "POST /v1/cron/standup/run", answer: `{"key":"cron/standup/1"}`, out: "fired: cron/standup/1\n"},
		"cron remove standup": {asks: "DELETE /v1/cron/standup", out: "standup is removed\n"},
		"cron add standup --schedule '45 9 * * *' --timezone UTC --text hi --to team --fallback owner --set label=INTERNAL --set 'ends={\"after\":3}'": {
			asks: "POST /v1/cron {\"deliver\":{\"fallback\":[\"owner\"],\"to\":[\"team\"]},\"ends\":{\"after\":3},\"id\":\"standup\",\"label\":\"INTERNAL\",\"schedule\":\"45 9 * * *\",\"text\":\"hi\",\"timezone\":\"UTC\"}", answer: jobAnswer, out: "standup was created, next at 2026-04-27T09:45:00Z\n",
		},
		"cron add tea --in 20m --text hi":                     {asks: "POST /v1/cron {\"at\":\"2026-04-26T18:23:16Z\",\"id\":\"tea\",\"text\":\"hi\"}", answer: jobAnswer, out: "standup was created, next at 2026-04-27T09:45:00Z\n"},
		"cron update standup --every 24h --set schedule=null": {asks: "PATCH /v1/cron/standup {\"every\":\"24h\",\"schedule\":null}", answer: `{"id":"standup","state":"paused"}`, out: "standup was changed, and is paused\n"},
	})
	misuse(t, map[string]string{
		"cron add tea --in 20m --at 2026-12-24T18:00 --text x": "--in, --at, --every and --schedule: give only one of them",
		"cron add tea --in 20m --every 5m --text x":            "--in, --at, --every and --schedule: give only one of them",
		"cron add tea --in -1m --text x":                       "--in -1m0s: want a time from now, for example 20m",
		"cron add tea --in 0 --text x":                         "--in 0s: want a time from now, for example 20m",
		"cron add standup --set label":                         "--set label: write key=value",
	})
}

func TestChecks(t *testing.T) {
	t.Parallel()
	const one = `{"name":"disk","source":"df\u202e","every":"5m","label":"INTERNAL","value":"97 %","before":"90 %","changed":"2026-04-26T17:03:16Z","holds":true,"looked":"2026-04-26T18:03:00Z","error":"","fails":0}`
	check(t, map[string]command{
		"checks list":     {asks: "GET /v1/checks", answer: `{"checks":[` + one + `,{"name":"new"}]}`, out: "NAME  SOURCE    VALUE  CHANGED  CHECKED  ERROR\ndisk  df\\u202e  97 %   1h ago   16s ago  -\nnew   -         -      -        -        -\n"},
		"checks run disk": {asks: "POST /v1/checks/disk/run", answer: one, out: "name             disk\nsource           df\\u202e\nevery            5m\nlabel            INTERNAL\nvalue            97 %\nbefore           90 %\nchanged          1h ago\ncondition holds  true\n"},
		"checks run x":    {asks: "POST /v1/checks/x/run", answer: `{"name":"x","error":"exit 1","fails":3,"failing":"2026-04-26T17:03:16Z"}`, out: "name      x\nerror     exit 1\nfailures  3\n"},
	})
}

func TestNodes(t *testing.T) {
	t.Parallel()
	const one = `{"id":"laptop","code":"ABCD2345","status":"approved","platform":"linux","classification":"INTERNAL","connected":true,"session":"agent:main:node-laptop","created":"2026-04-26T17:03:16Z"}`
	check(t, map[string]command{
		"nodes list":             {asks: "GET /v1/nodes", answer: `{"nodes":[` + one + `,{"id":"tv","status":"pending","platform":"x\u001b"}]}`, out: "NODE    STATUS    CODE      LEVEL     PLATFORM  CONNECTED  CREATED\nlaptop  approved  ABCD2345  INTERNAL  linux     yes        1h ago\ntv      pending   -         -         x\\u001b   no         -\n"},
		"nodes approve ABCD2345": {asks: "POST /v1/nodes/approve {\"code\":\"ABCD2345\"}", answer: one, out: "laptop is a node, level INTERNAL, session agent:main:node-laptop\n"},
		"nodes approve ABCD2345 --classification CONFIDENTIAL": {asks: "POST /v1/nodes/approve {\"classification\":\"CONFIDENTIAL\",\"code\":\"ABCD2345\"}", answer: one, out: "laptop is a node, level INTERNAL, session agent:main:node-laptop\n"},
		"nodes level laptop CONFIDENTIAL":                      {asks: "PATCH /v1/nodes/laptop {\"classification\":\"CONFIDENTIAL\"}", answer: one, out: "laptop has the level INTERNAL\n"},
		"nodes revoke laptop":                                  {asks: "DELETE /v1/nodes/laptop", out: "laptop no longer has access\n"},
	})
}

func TestProviders(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"models list": {
			asks: "GET /v1/providers",
			answer: `{"providers":[{"name":"openai","classification":"INTERNAL","region":"EU","host":"api.openai.com","keys":[{"name":"first"},
				{"name":"second","problem":{"text":"the key was revoked","since":"2026-04-26T17:03:16Z"},"models":[{"model":"openai/gpt","text":"busy\u001b","since":"2026-04-26T18:03:00Z"}]}],
				"models":[{"name":"openai/gpt","context_window":128000,"has":["tools"],"lacks":["audio"]},{"name":"openai/new"}]}]}`,
			out: "PROVIDER  KEY     LEVEL     REGION  AT              PROBLEM\nopenai    first   INTERNAL  EU      api.openai.com  -\nopenai    second  INTERNAL  EU      api.openai.com  the key was revoked, since 1h ago; not used until it is cleared\nopenai    second  INTERNAL  -       openai/gpt      busy\\u001b, since 16s ago; not used until it is cleared\n\nMODEL       CONTEXT  HAS    LACKS\nopenai/gpt  128000   tools  audio\nopenai/new  -        -      -\n",
		},
		"models check openai":    {asks: "POST /v1/providers/openai/check", answer: `{"results":[{"key":"first","model":"openai/gpt","ok":true,"milliseconds":120},{"key":"second","model":"openai/gpt","error":"revoked"}]}`, out: "MODEL       KEY     TIME    RESULT\nopenai/gpt  first   120 ms  works\nopenai/gpt  second  0 ms    revoked\n"},
		"models clear openai":    {asks: "POST /v1/providers/openai/clear", answer: `{"cleared":["openai/second","openai/gpt"]}`, out: "Used again: openai/second, openai/gpt\n"},
		"models clear anthropic": {asks: "POST /v1/providers/anthropic/clear", answer: `{"cleared":[]}`, out: "There is nothing to clear: no key or model has failed.\n"},
	})
}

func TestWhy(t *testing.T) {
	t.Parallel()
	const explained = `{"id":"dlv_1","title":"reply to group Plan\u202e","status":"blocked","answer":"It is CONFIDENTIAL; this group hears INTERNAL.","change":[{"text":"start a new session","command":"/new"},{"text":"raise the level of the group"}],
		"steps":[{"step":"heard","state":"ok","text":"telegram 512"},{"step":"run","state":"failed","text":"two tries","took_ms":4100,"facts":[{"name":"model","value":"x"}]},
		{"step":"gate","state":"stopped","text":"flow","rules":[{"rule":"flow","matched":true,"action":"block","detail":"too high"},{"rule":"policy.rules.x","matched":false}]},{"step":"sent","state":"not_recorded","text":"old"}]}`
	check(t, map[string]command{
		"why dlv_1": {asks: "GET /v1/why/dlv_1", answer: explained, out: "dlv_1: reply to group Plan\\u202e, BLOCKED\nIt is CONFIDENTIAL; this group hears INTERNAL.\n  To change: start a new session  (/new)\n  To change: raise the level of the group\n\n 1 --:--:-- heard    telegram 512\n 2 --:--:-- run      FAILED two tries (4.1s)\n     model: x\n 3 --:--:-- gate     STOPS flow\n     rule flow matched: block too high\n     rule policy.rules.x did not match\n 4 --:--:-- sent     not recorded old\n"},
		"why http://127.0.0.1:8484/why/dlv_1?session=sess_1": {asks: "GET /v1/why/dlv_1?session=sess_1", answer: explained, out: "dlv_1: reply to group Plan\\u202e, BLOCKED\nIt is CONFIDENTIAL; this group hears INTERNAL.\n  To change: start a new session  (/new)\n  To change: raise the level of the group\n\n 1 --:--:-- heard    telegram 512\n 2 --:--:-- run      FAILED two tries (4.1s)\n     model: x\n 3 --:--:-- gate     STOPS flow\n     rule flow matched: block too high\n     rule policy.rules.x did not match\n 4 --:--:-- sent     not recorded old\n"},
		"why msg_1 --session sess_1":                         {asks: "GET /v1/why/msg_1?session=sess_1", answer: `{"id":"msg_1","status":"x"}`, out: "msg_1: , X\n\n\n"},
	})
}
