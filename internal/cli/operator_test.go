package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli"
)

const deliveryAnswer = `{"id":"dlv_1","kind":"message","status":"blocked","route":{"channel":"telegram","account":"default","conversation":"1001"},"text":"hello\nworld\u001b",
	"label":"RESTRICTED","attempts":0,"error":"PUBLIC is the limit","created":"2026-04-26T17:03:16Z","decision":{"action":"block","reason":"RESTRICTED may not flow to PUBLIC",
	"rules":[{"rule":"flow","matched":true,"action":"block","detail":"telegram is PUBLIC"},{"rule":"sendPolicy.default","matched":false},{"rule":"hook","matched":true}]}}`

const decisionShown = `gate: block: RESTRICTED may not flow to PUBLIC
  flow: block (telegram is PUBLIC)
  sendPolicy.default: does not match
  hook: matches
`

func TestDeliveries(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"deliveries list": {
			asks: "GET /v1/deliveries?limit=50", answer: `{"deliveries":[` + deliveryAnswer + `],"counts":{"sent":7,"blocked":1}}`,
			out: "ID     STATUS   KIND     TO                     TEXT               REASON               CREATED\n" +
				`dlv_1  blocked  message  telegram/default 1001  hello world\u001b  PUBLIC is the limit  1h ago` + "\n\nTotal: blocked 1, sent 7\n",
		},
		"deliveries list --status blocked --limit 2 --after dlv_2": {
			asks: "GET /v1/deliveries?after=dlv_2&limit=2&status=blocked", answer: `{"deliveries":[]}`, next: "dlv_0",
			out: "No deliveries found.\nMore results: repeat the command with --after dlv_0\n",
		},
		"deliveries show dlv_1": {
			asks: "GET /v1/deliveries/dlv_1", answer: deliveryAnswer,
			out: `id        dlv_1
status    blocked
kind      message
to        telegram/default 1001
label     RESTRICTED
attempts  0
error     PUBLIC is the limit
created   1h ago
` + decisionShown + "\nhello\nworld" + `\u001b` + "\n",
		},
		"deliveries show dlv_2": {
			asks:   "GET /v1/deliveries/dlv_2",
			answer: `{"id":"dlv_2","status":"sent","attempts":2,"run":"run_1","session":"sess_1","resend_of":"dlv_1","text":"see","files":[{"id":"med_1","name":"a\nb.txt"}]}`,
			out:    "id        dlv_2\nstatus    sent\nsession   sess_1\nrun       run_1\nrepeats   dlv_1\nattempts  2\n\nsee\nfile: med_1 a b.txt\n",
		},
		"deliveries retry dlv_1":   {asks: "POST /v1/deliveries/dlv_1/retry", answer: `{"id":"dlv_1","status":"queued"}`, out: "dlv_1: queued\n"},
		"deliveries discard dlv_1": {asks: "POST /v1/deliveries/dlv_1/discard", answer: `{"id":"dlv_1","status":"discarded"}`, out: "dlv_1: discarded\n"},
	})
}

func TestRuns(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"runs list --status failed": {
			asks: "GET /v1/runs?limit=50&status=failed", answer: `{"runs":[{"id":"run_2","session":"sess_1","status":"failed","error":"the model is down","accepted":"2026-04-26T18:03:00Z"},{"id":"run_1","session":"sess_1","status":"done","reply":"hello"}]}`,
			out: "ID     STATUS  SESSION  RESULT             RECEIVED\nrun_2  failed  sess_1   the model is down  16s ago\nrun_1  done    sess_1   hello              -\n\nThe exact reason of a failure: sluice why RUN\n",
		},
		"runs show run_1": {
			asks:   "GET /v1/runs/run_1",
			answer: `{"id":"run_1","session":"sess_1","status":"done","kind":"message","model":"a/b","attempts":1,"reply":"hello\nyou","accepted":"2026-04-26T17:03:16Z","finished":"2026-04-26T17:04:16Z"}`,
			out:    "id        run_1\nstatus    done\nkind      message\nsession   sess_1\nmodel     a/b\nattempts  1\nreceived  1h ago\nfinished  59m ago\n\nhello\nyou\n",
		},
		"runs show run_2": {
			asks: "GET /v1/runs/run_2", answer: `{"id":"run_2","status":"done","withheld":{"message":"withheld\nhere","approval":"apr_1"}}`,
			out: "id        run_2\nstatus    done\nattempts  0\n\nwithheld here [sluice approvals show apr_1]\n",
		},
		"runs show run_3": {
			asks: "GET /v1/runs/run_3", answer: `{"id":"run_3","status":"failed","error":"the model is down"}`,
			out: "id        run_3\nstatus    failed\nattempts  0\nerror     the model is down\n\nThe exact reason: sluice why run_3\n",
		},
	})
}

const approvalAnswer = `{"id":"apr_1","session":"sess_1","run":"run_1","agent":"main","tool":"exec","args":{"command":"rm -r x\u001b[2J"},"label":"INTERNAL/trusted",
	"status":"pending","why":"exec is asked about","rules":["policy.rules.ask","trust"],"approvers":[["telegram:1001","slack:U1"],[]],"on_timeout":"allow",
	"created":"2026-04-26T18:00:16Z","expires":"2026-04-26T18:10:16Z"}`

const heldAnswer = `{"id":"apr_2","session":"sess_1","tool":"","delivery":"dlv_1","args":{"channel":"telegram","account":"default","to":"1001","thread":"",
	"kind":"reply","text":"the plan\nis \u202esiht\udb40\udc41"},"label":"PUBLIC/trusted","status":"denied","why":"","on_timeout":"block","by":"telegram:42","reason":"not now",
	"created":"2026-04-26T17:00:16Z","expires":"2026-04-26T17:10:16Z","decided":"2026-04-26T17:03:16Z"}`

const alwaysAnswer = `{"rule":{"id":"","agent":"main","tool":"exec","args":{"command":"ls"},"yaml":"alwaysAllow:\n  tool: exec\n"},"approval":{"id":"apr_1"},"saved":false}`

func TestPolicyBacktest(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "rule.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: a\n"), 0o600))
	check(t, map[string]command{
		"policy backtest " + file: {
			asks: `POST /v1/policy/backtest {"policy":"name: a\n"}`, answer: `{"deliveries":14,"calls":1,"bound":"rows","count":{"block":2,"hold":1},"more":true,"untried":["rules of X: nothing is stored"],"changed":[{"kind":"delivery","delivery":"dlv_1","was":"allow","would":"block","text":"the figures","route":{"channel":"telegram","account":"default","conversation":"1001"},"at":"2026-04-26T18:00:16Z"},{"kind":"call","run":"run_1","tool":"exec","text":"{}","was":"allow","would":"hold","at":"2026-04-26T17:03:16Z"}]}`,
			out: "It would have stopped 2, asked about 1.\n14 messages and 1 tool call were checked. Older ones were not checked.\nnot tested: rules of X: nothing is stored\n\nID     WAS    WOULD BE  WHAT                   TEXT         WHEN\ndlv_1  allow  block     telegram/default 1001  the figures  3m ago\nrun_1  allow  hold      exec                   {}           1h ago\nOnly the newest 100 are listed.\n",
		},
		"policy backtest " + file + " --since 2026-04-26T12:00:00Z": {
			asks: `POST /v1/policy/backtest {"policy":"name: a\n","since":"2026-04-26T12:00:00Z"}`, answer: `{"deliveries":0,"calls":0,"bound":"none","count":{},"changed":[]}`,
			out: "No decision would have been different.\n0 messages and 0 tool calls were checked. Nothing older is stored.\n",
		},
	})
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"approvals always apr_1": {
			asks: `POST /v1/approvals/apr_1/always {"preview":true}`, answer: alwaysAnswer,
			out: "alwaysAllow:\n  tool: exec\n\nNot saved yet. Add --save to save this rule and allow the call.\n",
		},
		"approvals always apr_1 --save": {
			asks: `POST /v1/approvals/apr_1/always {"preview":false}`, answer: `{"rule":{"id":"alw_1","yaml":"alwaysAllow:\n  tool: exec\n"},"saved":true}`,
			out: "alwaysAllow:\n  tool: exec\n\nSaved as alw_1. The waiting call is allowed.\n",
		},
		"policy allow-rules": {
			asks: "GET /v1/policy/allow-rules", answer: `{"rules":[{"id":"alw_1","agent":"main","tool":"exec","args":{"command":"ls"},"level":"PUBLIC/trusted","by":"operator","created":"2026-04-26T18:00:16Z"}]}`,
			out: "ID     AGENT  TOOL  ARGUMENTS         LEVEL           BY        CREATED\nalw_1  main   exec  {\"command\":\"ls\"}  PUBLIC/trusted  operator  3m ago\n",
		},
		"policy end-rule alw_1": {asks: "DELETE /v1/policy/allow-rules/alw_1", out: "alw_1: ended. The next call needs approval again.\n"},
		"approvals list": {
			asks: "GET /v1/approvals?limit=50", answer: `{"approvals":[{"id":"apr_1","session":"sess_1","agent":"main","tool":"exec","args":{"command":"ls"},"status":"pending","created":"2026-04-26T18:00:16Z","expires":"2026-04-26T18:10:16Z"}]}`,
			out: "ID     STATUS   AGENT  TOOL  CONTENT           SESSION  ASKED   LEFT\napr_1  pending  main   exec  {\"command\":\"ls\"}  sess_1   3m ago  7m0s\n",
		},
		"approvals list --channel telegram --kind message --after apr_1": {
			asks: "GET /v1/approvals?after=apr_1&channel=telegram&kind=message&limit=50", answer: `{"approvals":[]}`,
			out: `No approvals found. "--all" includes those that have been decided.` + "\n",
		},
		"approvals list --all": {
			asks: "GET /v1/approvals?limit=50&status=all", answer: `{"approvals":[` + heldAnswer + `]}`,
			out: "ID     STATUS  AGENT  TOOL     CONTENT                                          SESSION  ASKED   LEFT\n" +
				`apr_2  denied  -      message  telegram 1001: the plan is \u202esiht\U000e0041  sess_1   1h ago  -` + "\n",
		},
		"approvals show apr_1": {
			asks: "GET /v1/approvals/apr_1", answer: approvalAnswer,
			out: `id        apr_1
status    pending
tool      exec
agent     main
session   sess_1
run       run_1
reason    exec is asked about
asked by  policy.rules.ask, trust
level     INTERNAL/trusted
deciders  anyone who is in each of these groups: telegram:1001, slack:U1; the owners
asked     3m ago
expires   2026-04-26T18:10:16Z (in 7m0s; no answer counts as allowed)

{
  "command": "rm -r x\u001b[2J"
}

sluice approvals allow apr_1
sluice approvals deny apr_1 --reason TEXT
`,
		},
		"approvals show apr_2": {
			asks: "GET /v1/approvals/apr_2", answer: heldAnswer,
			out: `id          apr_2
status      denied
message to  telegram/default 1001
kind        reply
session     sess_1
delivery    dlv_1
reason      the agent's permission mode asks
level       PUBLIC/trusted
deciders    the owners
asked       1h ago
decided     1h ago by telegram:42: not now

the plan
is \u202esiht\U000e0041
`,
		},
		"approvals show apr_3": {
			asks: "GET /v1/approvals/apr_3", answer: `{"id":"apr_3","status":"pending","tool":"exec","args":{},"on_timeout":"block","expires":"2026-04-26T18:03:16Z"}`,
			out: `id        apr_3
status    pending
tool      exec
reason    the agent's permission mode asks
deciders  the owners
expires   2026-04-26T18:03:16Z (expired; counts as denied)

{}

sluice approvals allow apr_3
sluice approvals deny apr_3 --reason TEXT
`,
		},
		"approvals allow apr_1":                   {asks: "POST /v1/approvals/apr_1/allow", answer: `{"tool":"exec"}`, out: "Allowed: exec\n"},
		"approvals deny apr_2":                    {asks: "POST /v1/approvals/apr_2/deny", answer: `{"tool":""}`, out: "Denied: message\n"},
		"approvals deny apr_1 --reason 'not now'": {asks: `POST /v1/approvals/apr_1/deny {"reason":"not now"}`, answer: `{"tool":"exec"}`, out: "Denied: exec\n"},
	})
}

func TestPairing(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"pairing list": {
			asks: "GET /v1/pairings", answer: `{"pairings":[{"channel":"telegram","account":"default","user":{"id":"7","name":"Bob"},"code":"ABCD2345","status":"pending","created":"2026-04-24T18:03:16Z"},{"channel":"slack","account":"ops","user":{"id":"U1","username":"ann"},"status":"approved"}]}`,
			out: "CODE      STATUS    PERSON          ACCOUNT  ASKED\nABCD2345  pending   telegram:7 Bob  default  2d ago\n-         approved  slack:U1 ann    ops      -\n",
		},
		"pairing list --status denied": {
			asks: "GET /v1/pairings?status=denied", answer: `{"pairings":[{"channel":"slack","account":"ops","user":{"id":"U1","name":"Bo"},"status":"denied"}]}`,
			out: "CODE  STATUS  PERSON       ACCOUNT  ASKED\n-     denied  slack:U1 Bo  ops      -\n",
		},
		"pairing approve ABCD2345": {
			asks: "POST /v1/pairings/ABCD2345/approve", answer: `{"channel":"telegram","user":{"id":"7","name":"Bob\u202e"},"note":"All direct chats\nare one session"}`,
			out: `telegram:7 Bob\u202e is admitted` + "\n\nNote: All direct chats are one session\n",
		},
		"pairing deny ABCD2345": {
			asks: "POST /v1/pairings/ABCD2345/deny", answer: `{"channel":"telegram","user":{"id":"7","name":"Bob"}}`,
			out: "telegram:7 Bob is turned down\n",
		},
	})
}

func TestPairingRevoke(t *testing.T) {
	t.Parallel()
	g := newGateway(t, http.StatusNoContent, "", "")
	require.Equal(t, result{cli.ExitDone, "telegram:7 no longer has access\n", ""}, execute(t, g.env(), "pairing", "revoke", "telegram:7"))
	require.Equal(t, result{cli.ExitDone, "telegram:7 no longer has access\n", ""}, execute(t, g.env(), "pairing", "revoke", "telegram", "7", "--account", "ops"))
	wrong := execute(t, g.env(), "pairing", "revoke", "7")
	require.Equal(t, cli.ExitUsage, wrong.code)
	require.Contains(t, wrong.err, `"7": use CHANNEL:USER`)
	require.Equal(t, []string{
		`POST /v1/pairings/revoke {"account":"default","channel":"telegram","user":"7"}`,
		`POST /v1/pairings/revoke {"account":"ops","channel":"telegram","user":"7"}`,
	}, g.asked)
	g = newGateway(t, http.StatusNotFound, "", `{"error":"not_found"}`)
	require.Equal(t, result{cli.ExitFailed, "", "sluice: telegram:7 was not admitted by a pairing code: `sluice pairing list` shows who was\n"}, execute(t, g.env(), "pairing", "revoke", "telegram", "7"))
	g = newGateway(t, http.StatusForbidden, "", `{"message":"no"}`)
	require.Equal(t, result{cli.ExitFailed, "", "sluice: no\n"}, execute(t, g.env(), "pairing", "revoke", "telegram", "7"))
	require.Contains(t, execute(t, map[string]string{cli.EnvURL: "x", cli.EnvToken: "x"}, "pairing", "revoke", "telegram", "7").err, "SLUICE_URL")
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"directory --channel slack #ops": {
			asks: "GET /v1/directory?channel=slack&to=%23ops", answer: `{"route":{"channel":"slack","account":"default","chatType":"group","conversation":"C1","title":"ops\u001b"},"members":[{"id":"U1","name":"Ada","username":"ada"},{"id":"U2","name":"Bot","username":"helper","bot":true}]}`,
			out: `slack/default group C1 ops\u001b` + "\nID  NAME  USERNAME  BOT\nU1  Ada   ada       -\nU2  Bot   helper    yes\n",
		},
		"directory --channel telegram --account ops owner": {
			asks: "GET /v1/directory?account=ops&channel=telegram&to=owner", answer: `{"route":{"channel":"telegram","account":"ops","chatType":"direct","conversation":"1001","title":"Ann"}}`,
			out: "telegram/ops direct 1001 Ann\n",
		},
	})
}

const memoryAnswer = `{"id":"mem_1","namespace":"main","audience":"owner","classification":"INTERNAL","trust":"trusted","key":"user-name","content":"Eve\nlikes tea",
	"tags":["personal","drinks"],"session":"sess_1","updated_at":"2026-04-26T17:03:16Z"}`

func TestMemory(t *testing.T) {
	t.Parallel()
	const head = "ID     NAMESPACE  AUDIENCE  LEVEL     KEY        CONTENT        TAGS             SAVED\n"
	const row = "mem_1  main       owner     INTERNAL  user-name  Eve likes tea  personal,drinks  1h ago\n"
	check(t, map[string]command{
		"memory list": {
			asks: "GET /v1/memory?limit=50", answer: `{"memories":[` + memoryAnswer + `],"next":"bWFpbg"}`,
			out: head + row + "More results: repeat the command with --after bWFpbg\n",
		},
		"memory list --level internal":     {asks: "GET /v1/memory?level=INTERNAL&limit=50", answer: `{"memories":[` + memoryAnswer + `]}`, out: head + row},
		"memory search tea --level public": {asks: "GET /v1/memory?level=PUBLIC&limit=50&q=tea", answer: `{"memories":[` + memoryAnswer + `]}`, out: head + row},
		"memory list --namespace main --tag personal --audience owner --after x --limit 2": {
			asks: "GET /v1/memory?after=x&audience=owner&limit=2&namespace=main&tag=personal", answer: `{"memories":[` + memoryAnswer + `]}`, out: head + row,
		},
		"memory search 'what is' her name --audience owner": {
			asks: "GET /v1/memory?audience=owner&limit=50&q=what+is+her+name", answer: `{"memories":[` + memoryAnswer + `]}`, out: head + row,
		},
		"memory show mem_1": {
			asks: "GET /v1/memory/mem_1", answer: `{"memory":` + memoryAnswer + `,"versions":[{"id":"mem_1","content":"Eve"},{"id":"mem_0","deleted":true,"ending":"replaced"}]}`,
			out: `key         user-name
namespace   main
audience    owner
level       INTERNAL, trusted
tags        personal,drinks
saved       1h ago
by session  sess_1
expires     never
state       current

Eve
likes tea

VERSION  STATE                CONTENT  SAVED
mem_1    current              Eve      -
mem_0    tombstone, replaced  -        -
`,
		},
		"memory show mem_2": {
			asks: "GET /v1/memory/mem_2", answer: `{"memory":{"id":"mem_2","key":"k","classification":"PUBLIC","trust":"untrusted","expires_at":"2026-05-01T00:00:00Z"}}`,
			out: "key      k\nlevel    PUBLIC, untrusted\nexpires  2026-05-01T00:00:00Z\nstate    current\n\n\n\nVERSION  STATE  CONTENT  SAVED\n",
		},
		"memory delete mem_1": {asks: "DELETE /v1/memory/mem_1", out: "mem_1: deleted\n"},
		"memory delete mem_1 --uncover": {
			asks: "DELETE /v1/memory/mem_1?uncover=true", out: "mem_1: deleted; agents now see what less confidential conversations saved under its key\n",
		},
	})
	misuse(t, map[string]string{"memory search": "expected at least 1 argument, got 0", "memory delete": "expected 1 argument, got 0"})
}

func TestAuditList(t *testing.T) {
	t.Parallel()
	const entry = `{"id":"17-ab","at":"2026-04-26T17:03:16Z","actor":"telegram:7","action":"command.denied","object":"/send","detail":{"reason":"not an owner"}}`
	const shown = "AT                    ACTOR       ACTION          OBJECT  DETAIL\n2026-04-26T17:03:16Z  telegram:7  command.denied  /send   {\"reason\":\"not an owner\"}\n"
	check(t, map[string]command{
		"audit list": {asks: "GET /v1/audit?limit=50", answer: `{"entries":[` + entry + `]}`, out: shown},
		"audit list --action command.denied --actor telegram:7 --session main --since 90m --limit 1 --after 18-cd": {
			asks:   "GET /v1/audit?action=command.denied&actor=telegram%3A7&after=18-cd&limit=1&session=main&since=2026-04-26T16%3A33%3A16Z",
			answer: `{"entries":[` + entry + `]}`, next: "17-ab", out: shown + "More results: repeat the command with --after 17-ab\n",
		},
		"audit list --object dlv_1 --level confidential --since 48h --until 24h": {
			asks:   "GET /v1/audit?level=CONFIDENTIAL&limit=50&object=dlv_1&since=2026-04-24T18%3A03%3A16Z&until=2026-04-25T18%3A03%3A16Z",
			answer: `{"entries":[` + entry + `]}`, out: shown,
		},
		"audit list --since 2026-04-26":                {asks: "GET /v1/audit?limit=50&since=2026-04-26T00%3A00%3A00Z", answer: `{"entries":[` + entry + `]}`, out: shown},
		"audit list --since 2026-04-26T18:00:00+02:00": {asks: "GET /v1/audit?limit=50&since=2026-04-26T16%3A00%3A00Z", answer: `{"entries":[` + entry + `]}`, out: shown},
	})
	misuse(t, map[string]string{
		"audit list --since yesterday": `--since "yesterday": use an age (24h), a time (2026-04-26T18:00:00Z) or a day (2026-04-26)`,
		"audit list --since -24h":      `--since "-24h": use an age (24h), a time (2026-04-26T18:00:00Z) or a day (2026-04-26)`,
		"audit list --until tomorrow":  `--until "tomorrow": use an age (24h), a time (2026-04-26T18:00:00Z) or a day (2026-04-26)`,
		"audit verify 0:1:aa":          `unexpected argument "0:1:aa"`,
	})
}

func TestAuditVerify(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"audit verify": {
			asks: "GET /v1/audit/verify", answer: `{"ok":true,"entries":9,"heads":["0:5:aa","1:4:bb"],"faults":[]}`,
			out: "0:5:aa\n1:4:bb\n9 entries checked: all intact\n",
		},
		"audit verify --head 1:3:cc --head 0:2:dd": {
			asks: "GET /v1/audit/verify?head=1%3A3%3Acc&head=0%3A2%3Add", answer: `{"ok":false,"entries":1,"heads":["0:5:aa"],"faults":[{"chain":1,"seq":3,"kind":"missing","text":"it is\nmissing"}]}`,
			out:  "0:5:aa\nBROKEN chain 1, entry 3 (missing): it is missing\n1 entry checked: 1 fault. Keep a copy of the database, and find out who could write to it\n",
			code: cli.ExitFailed,
		},
	})
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"policy check --channel telegram --chat-type group": {
			asks: `POST /v1/policy/check {"channel":"telegram","chatType":"group"}`, answer: `{"action":"allow","reason":"no rule forbids it","rules":[{"rule":"flow","matched":true,"action":"allow"}]}`,
			out: "gate: allow: no rule forbids it\n  flow: allow\n",
		},
		"policy check --channel slack --chat-type channel --account ops --to C1 --thread 17.2 --session main --label INTERNAL --kind notice --text 'a b'": {
			asks:   `POST /v1/policy/check {"account":"ops","channel":"slack","chatType":"channel","kind":"notice","label":"INTERNAL","session":"main","text":"a b","thread":"17.2","to":"C1"}`,
			answer: `{"action":"block","reason":"RESTRICTED may not flow to PUBLIC","rules":[{"rule":"flow","matched":true,"action":"block","detail":"telegram is PUBLIC"},{"rule":"sendPolicy.default"},{"rule":"hook","matched":true}]}`, out: decisionShown,
		},
		"policy simulate exec": {
			asks: `POST /v1/policy/simulate {"args":{},"session":"","tool_name":"exec"}`, answer: `{"tool_name":"exec","decision":"ALLOW","reason":"read only","level":"PUBLIC","resulting_level":"PUBLIC"}`,
			out: "exec: ALLOW: read only\n",
		},
		`policy simulate message --args '{"to":"owner"}' --session agent:main:main`: {
			asks:   `POST /v1/policy/simulate {"args":{"to":"owner"},"session":"agent:main:main","tool_name":"message"}`,
			answer: `{"tool_name":"message","decision":"BLOCK","reason":"no","level":"PUBLIC","resulting_level":"INTERNAL","rules":[{"rule":"ask","matched":true,"action":"hold"}]}`,
			out:    "message: BLOCK: no\n  the session would rise from PUBLIC to INTERNAL\n  ask: hold\n",
		},
	})
	misuse(t, map[string]string{
		"policy check --channel telegram":        `required flag(s) "chat-type" not set`,
		"policy simulate message --args 'to: x'": `--args "to: x": use a JSON object, for example '{"to":"owner"}'`,
		"policy simulate":                        "expected 1 argument, got 0",
	})
}

func TestSendWaits(t *testing.T) {
	t.Parallel()
	state := func(status string) string {
		return `{"id":"dlv_1","status":"` + status + `","route":{"channel":"telegram","account":"default","conversation":"7"}}`
	}
	for name, c := range map[string]struct {
		states []string
		want   result
	}{
		"sent":    {[]string{"queued", "held", "sending", "sent"}, result{cli.ExitDone, "dlv_1: sent to telegram/default 7\n", ""}},
		"failed":  {[]string{"queued", "failed"}, result{cli.ExitFailed, "dlv_1: failed to telegram/default 7\n", ""}},
		"unknown": {[]string{"unknown"}, result{cli.ExitFailed, "dlv_1: unknown to telegram/default 7\n", ""}},
		"late": {
			[]string{"held"},
			result{cli.ExitFailed, "", "sluice: dlv_1 is held: the message was neither sent nor refused in time; \"sluice deliveries show\" shows its status\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			g := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked > 0 && r.URL.Path != "/v1/deliveries/dlv_1" {
					w.WriteHeader(http.StatusTeapot)
				}
				_, _ = w.Write([]byte(state(c.states[min(asked, len(c.states)-1)])))
				asked++
			}))
			t.Cleanup(g.Close)
			timeout := "1m"
			if name == "late" {
				timeout = "300ms"
			}
			env := map[string]string{cli.EnvURL: g.URL, cli.EnvToken: fakeToken}
			require.Equal(t, c.want, execute(t, env, "send", "--channel", "telegram", "--to", "7", "--wait", "--timeout", timeout, "hello"))
		})
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	note, unnamed := filepath.Join(dir, "note.txt"), filepath.Join(dir, "page")
	require.NoError(t, os.WriteFile(note, []byte("hi\n"), 0o600))
	require.NoError(t, os.WriteFile(unnamed, []byte("<html>"), 0o600))
	hollow := filepath.Join(dir, "hollow")
	require.NoError(t, os.WriteFile(hollow, nil, 0o600))
	check(t, map[string]command{
		"send --channel telegram --to 1001 hello": {
			asks: `POST /v1/messages {"channel":"telegram","text":"hello","to":"1001"}`, answer: deliveryAnswer, out: "dlv_1: blocked to telegram/default 1001\n" + decisionShown, code: cli.ExitFailed,
		},
		"send --channel telegram --to 1001 --account ops --thread 7 --label RESTRICTED --idempotency-key k1 'a b'": {
			asks:   `POST /v1/messages {"account":"ops","channel":"telegram","key":"k1","label":"RESTRICTED","text":"a b","thread":"7","to":"1001"}`,
			answer: `{"id":"dlv_1","status":"queued","route":{"channel":"telegram","account":"ops","conversation":"1001","thread":"7"}}`, out: "dlv_1: queued to telegram/ops 1001#7\n",
		},
		"send --channel slack --to @ada --button 'Yes=/deploy a=b' --button No=/no deploy?": {
			asks:   `POST /v1/messages {"buttons":[{"label":"Yes","value":"/deploy a=b"},{"label":"No","value":"/no"}],"channel":"slack","text":"deploy?","to":"@ada"}`,
			answer: `{"id":"dlv_1","status":"queued","route":{"channel":"slack","account":"default","conversation":"C1"},"decision":{"action":"hold","reason":"a rule"}}`, out: "dlv_1: held to slack/default C1\ngate: hold: a rule\n",
		},
		"send --channel discord --to 6000 hi": {
			asks:   `POST /v1/messages {"channel":"discord","text":"hi","to":"6000"}`,
			answer: `{"id":"dlv_1","status":"failed","error":"permanent: Unknown Channel\u001b","route":{"channel":"discord","account":"default","conversation":"6000"}}`, out: "dlv_1: failed to discord/default 6000\nerror: permanent: Unknown Channel\\u001b\n", code: cli.ExitFailed,
		},
		"send --channel slack --to #ops --file '" + note + "' --file '" + unnamed + "'": {
			asks:   `POST /v1/messages {"channel":"slack","files":[{"data":"aGkK","mime":"text/plain; charset=utf-8","name":"note.txt"},{"data":"PGh0bWw+","mime":"text/html; charset=utf-8","name":"page"}],"to":"#ops"}`,
			answer: `{"id":"dlv_1","status":"queued"}`, out: "dlv_1: queued to \n",
		},
	})
	misuse(t, map[string]string{
		"send --channel slack --to @ada":                         "nothing to send: add a TEXT or a --file",
		"send --channel slack --to @ada --button Yes deploy?":    `--button "Yes": use LABEL=VALUE`,
		"send --channel slack --to @ada --button =x deploy?":     `--button "=x": use LABEL=VALUE`,
		"send --channel slack --to @ada --button Yes= deploy?":   `--button "Yes=": use LABEL=VALUE`,
		"send --channel slack --to @ada --file '" + dir + "'":    `--file "` + dir + `" is not a regular file`,
		"send --channel slack --to @ada --file '" + hollow + "'": `--file "` + hollow + `" is empty`,
		"send hello":                             `required flag(s) "channel", "to" not set`,
		"send --channel slack --to @ada one two": `unexpected argument "two": put texts of several words in quotes`,
	})
	got := execute(t, newGateway(t, http.StatusOK, "", "{}").env(), "send", "--channel", "slack", "--to", "x", "--file", filepath.Join(dir, "none"))
	require.Equal(t, cli.ExitFailed, got.code)
	require.Contains(t, got.err, "none: no such file")
}

func TestStatus(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"status": {
			asks: "GET /v1/status",
			answer: `{"version":"v1","ready":true,"uptime":"2h0m0s","parts":[{"name":"store","ok":true,"detail":"sqlite"},{"name":"bus","ok":false,"detail":"no\nservers"},{"name":"x","ok":false}],
				"accounts":[{"channel":"telegram","account":"default","status":"connected","self":{"id":"1","username":"a_bot"},"classification":"INTERNAL","restarts":2,"pending":3,"lastEvent":"2026-04-26T18:03:06Z"},
					{"channel":"slack","account":"ops","status":"retrying","detail":"invalid_auth:\nthe token","deafSince":"2026-04-26T17:59:16Z","classification":"INTERNAL"}],"deliveries":{"blocked":1}}`,
			out: `Sluice v1: ready, up 2h0m0s

COMPONENT  STATE
store      ok
bus        no servers
x          does not work

ACCOUNT           NAME    STATE      LEVEL     LAST EVENT  PENDING  RESTARTS
telegram/default  @a_bot  connected  INTERNAL  10s ago     3        2
slack/ops         -       retrying   INTERNAL  -           0        0

RECEIVES NOTHING  SINCE   REASON
slack/ops         4m ago  invalid_auth: the token

Deliveries: blocked 1
`,
		},
	})
	check(t, map[string]command{
		"status": {
			asks: "GET /v1/status", answer: `{"version":"v2","uptime":"1s"}`,
			code: cli.ExitFailed, out: "Sluice v2: not ready, up 1s\n\nCOMPONENT  STATE\n",
		},
	})
	check(t, map[string]command{
		"status": {
			asks: "GET /v1/status",
			answer: `{"version":"v1","ready":true,"uptime":"1s","parts":[{"name":"store","ok":true}],
				"limited":[{"person":"telegram:1001","reason":"limits.perPerson is reached: 30 in 1 minute","count":12,"last":"2026-04-26T18:03:06Z"}]}`,
			out: `Sluice v1: ready, up 1s

COMPONENT  STATE
store      ok

LIMITED        REFUSED  LAST     REASON
telegram:1001  12       10s ago  limits.perPerson is reached: 30 in 1 minute
`,
		},
		"people": {
			asks: "GET /v1/people",
			answer: `{"owners":["telegram:1001"],"people":[{"person":"telegram:1001","user":{"name":"Ada"},"direct":"owner",
				"spoke":[{"chat_type":"direct","conversation":"1001","right":"owner","last":"2026-04-26T18:03:06Z"}]}]}`,
			out: `PERSON         NAME  IN PRIVATE  PLACE        RIGHT  LAST
telegram:1001  Ada   owner       direct 1001  owner  10s ago
`,
		},
	})
}
