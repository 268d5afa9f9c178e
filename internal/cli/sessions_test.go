package cli_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli"
)

const sessionAnswer = `{"id":"sess_1","created_at":1777222996,"last_activity":1777222996,"busy":false,"persistent":true,"ttl":0,"status":"ready",
	"metadata":{},"key":"agent:main:main","agent":"main","taint":"INTERNAL","clearance":"RESTRICTED","carries":"PUBLIC",
	"held":"the text is INTERNAL; begin a new session with /new","channel":"webchat","send_policy":"","title":"Ann\u001b[31m","model":""}`

const sessionShown = `id              sess_1
key             agent:main:main
title           Ann\u001b[31m
agent           main
state           ready
level           INTERNAL
clearance       RESTRICTED
last channel    webchat
channel allows  PUBLIC
withheld        the text is INTERNAL; begin a new session with /new
send policy     inherit
persistent      true
created         1h ago
last active     1h ago
`

const exchangeAnswer = `{"id":"xch_1","kind":"spawn","requester":{"session":"sess_1","key":"agent:main:main"},
	"target":{"session":"sess_3","key":"agent:main:subagent:7"},"request":"look","name":"prices","phase":"replying","turn":2,
	"first_run":"run_7","started":"2026-04-26T17:03:16Z"}`

func TestSessions(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"sessions list": {
			asks: "GET /v1/sessions", answer: "[" + sessionAnswer + "]",
			out: "ID      KEY              TITLE          LEVEL     STATE  LAST ACTIVE\n" +
				`sess_1  agent:main:main  Ann\u001b[31m  INTERNAL  ready  1h ago` + "\n",
		},
		"sessions list --agent main --channel slack --kind group --level INTERNAL --active 24h --text plan --busy --archived --limit 5": {
			asks: "GET /v1/sessions?active=24h&agent=main&archived=true&busy=true&channel=slack&kind=group&level=INTERNAL&limit=5&q=plan", answer: "[]",
			out: "No sessions found. \"sluice chat\" starts one.\n",
		},
		"deliveries list --channel slack --account a --to C1 --session sess_1 --rule secrets --text plan --status blocked": {
			asks:   "GET /v1/deliveries?account=a&channel=slack&limit=50&q=plan&rule=secrets&session=sess_1&status=blocked&to=C1",
			answer: `{"deliveries":[],"counts":{}}`, out: "No deliveries found.\n",
		},
		"runs list --agent main --channel slack --model p/m --kind message --text plan": {
			asks: "GET /v1/runs?agent=main&channel=slack&kind=message&limit=50&model=p%2Fm&q=plan", answer: `{"runs":[]}`, out: "No runs found.\n",
		},
		"sessions list --after sess_0": {
			asks: "GET /v1/sessions?after=sess_0", answer: "[]", next: "sess_1",
			out: "No sessions found. \"sluice chat\" starts one.\nMore results: repeat the command with --after sess_1\n",
		},
		"sessions show agent:main:main": {asks: "GET /v1/sessions/agent:main:main", answer: sessionAnswer, out: sessionShown},
		"sessions show sess_2": {
			asks: "GET /v1/sessions/sess_2", answer: `{"id":"sess_2","busy":true,"ttl":90,"send_policy":"deny","group_activation":"always","queue_mode":"steer","thinking_level":"high","verbose_level":"on","temperature":0.7,"max_output_tokens":4096,"label":"x","model":"a/b","metadata":{"a":1}}`,
			out: `id                 sess_2
model              a/b
state              busy
label              x
send policy        deny
group activation   always
queue mode         steer
thinking           high
verbose            on
temperature        0.7
max output tokens  4096
persistent         false
ttl                1m30s
metadata           {"a":1}
`,
		},
		"sessions history sess_1 --limit 5": {
			asks:   "GET /v1/sessions/sess_1/history?limit=5",
			answer: `{"messages":[{"role":"user","sender":{"name":"Ann"},"parts":[{"type":"text","text":"hi\nyou"}]},{"role":"assistant","parts":[{"type":"toolCall","tool":"sessions_list","args":{"limit":1}},{"type":"text","text":"hello"}]},{"role":"assistant","parts":[{"type":"text","text":""}]}]}`,
			out:    "Ann: hi\nyou\nassistant: [sessions_list {\"limit\":1}]\nhello\n",
		},
		"sessions reset main": {asks: "POST /v1/sessions/main/reset", answer: sessionAnswer, out: sessionShown},
		"sessions delete 'a b'": {
			asks: "DELETE /v1/sessions/a%20b", out: "a b: deleted\n",
		},
		"sessions exchanges": {
			asks: "GET /v1/exchanges?limit=50", answer: `{"exchanges":[` + exchangeAnswer + `]}`,
			out: "ID     KIND   STATE       FROM             TO                     ABOUT   STARTED\n" +
				"xch_1  spawn  replying 2  agent:main:main  agent:main:subagent:7  prices  1h ago\n",
		},
		"sessions exchanges agent:main:main --kind send --open --limit 3": {
			asks: "GET /v1/exchanges?kind=send&limit=3&open=true&session=agent%3Amain%3Amain", answer: `{"exchanges":[]}`,
			out: "No exchanges found.\n",
		},
		"sessions spawn main 'look at the prices'": {
			asks: `POST /v1/sessions/main/tasks {"task":"look at the prices"}`, answer: exchangeAnswer,
			out: "exchange  xch_1\nsession   agent:main:subagent:7\nrun       run_7\n",
		},
		"sessions spawn main look --name prices --agent other --model a/b --timeout 90s --discard": {
			asks:   `POST /v1/sessions/main/tasks {"agent":"other","cleanup":"delete","model":"a/b","name":"prices","task":"look","timeout":90}`,
			answer: `{"id":"xch_2"}`, out: "exchange  xch_2\n",
		},
	})
}

func TestSessionsPatch(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"sessions patch main --send-policy deny --title 'A B'": {
			asks: `PATCH /v1/sessions/main {"send_policy":"deny","title":"A B"}`, answer: sessionAnswer, out: sessionShown,
		},
		"sessions patch main --group-activation always --model ''": {
			asks: `PATCH /v1/sessions/main {"group_activation":"always","model":""}`, answer: sessionAnswer, out: sessionShown,
		},
		`sessions patch main --set sendPolicy=deny --set 'metadata={"a":1}' --set label=a=b --clear queueMode`: {
			asks: `PATCH /v1/sessions/main {"label":"a=b","metadata":{"a":1},"queueMode":null,"sendPolicy":"deny"}`, answer: sessionAnswer, out: sessionShown,
		},
	})
}

func TestSessionsAreUsedWrongly(t *testing.T) {
	t.Parallel()
	misuse(t, map[string]string{
		"sessions show":                                   "expected 1 argument, got 0",
		"sessions list x":                                 `unexpected argument "x"`,
		"sessions patch main":                             "nothing to change: use --set field=value or --clear field",
		"sessions patch main --set sendPolicy":            `--set "sendPolicy": use field=value`,
		"sessions patch main --set =x":                    `--set "=x": use field=value`,
		"sessions patch main --set 'metadata={'":          "--set metadata: use a JSON object",
		"sessions patch main --set label=a --clear label": "label is given twice",
		"sessions patch main --title a --set title=b":     "title is given twice",
		"sessions spawn main":                             "expected 2 arguments, got 1",
		"sessions spawn main look --timeout 1500ms":       "--timeout: use whole seconds, for example 90s",
		"sessions spawn main look --timeout -1s":          "--timeout: use whole seconds, for example 90s",
		"sessions history main --limit many":              `invalid argument "many" for "--limit" flag: strconv.ParseInt: parsing "many": invalid syntax`,
	})
}

// A turn prints its answer; a run that did not go well is a failure.
func TestSessionsSend(t *testing.T) {
	t.Parallel()
	const asks = `POST /v1/sessions/main/messages {"message":"hi there"}`
	for name, test := range map[string]struct {
		answer string
		want   result
	}{
		"answered": {`{"run_id":"run_1","status":"ok","reply":"you said\nhi\u001b"}`, result{cli.ExitDone, "you said\nhi" + `\u001b` + "\n", ""}},
		"withheld": {
			`{"run_id":"run_1","status":"ok","withheld":{"message":"Processed; the reply was withheld.","delivery":"dlv_1"}}`,
			result{cli.ExitDone, "", "Processed; the reply was withheld. [sluice deliveries show dlv_1]\n"},
		},
		"failed": {`{"run_id":"run_1","status":"error","reply":"the model is down"}`, result{cli.ExitFailed, "the model is down\n", "sluice: run run_1 ended with status error\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, http.StatusOK, "", test.answer)
			require.Equal(t, test.want, execute(t, g.env(), "sessions", "send", "main", "hi there"))
			require.Equal(t, []string{asks}, g.asked)
			got := execute(t, g.env(), "sessions", "send", "main", "hi there", "--json")
			require.Equal(t, test.want.code, got.code)
			var answer map[string]any
			require.NoError(t, json.Unmarshal([]byte(got.out), &answer))
			require.Equal(t, "run_1", answer["run_id"])
		})
	}
	busy := newGateway(t, http.StatusConflict, "", `{"error":"busy","message":"the session is busy"}`)
	require.Equal(t, result{cli.ExitFailed, "", "sluice: the session is busy\n"}, execute(t, busy.env(), "sessions", "send", "main", "x"))
	gone := newGateway(t, http.StatusNotFound, "", `{"error":"not_found","message":"x"}`)
	require.Equal(t, result{cli.ExitFailed, "", "sluice: there is no session \"a b\": `sluice sessions list` shows what there is\n"}, execute(t, gone.env(), "sessions", "send", "a b", "x"))
	broken := newGateway(t, http.StatusOK, "", `<html>`)
	require.Contains(t, execute(t, broken.env(), "sessions", "send", "main", "x").err, "does not answer like a Sluice gateway")
	require.Contains(t, execute(t, map[string]string{cli.EnvURL: "x", cli.EnvToken: "x"}, "sessions", "send", "main", "x").err, `SLUICE_URL is "x"`)
}

// The agent works on after the command's patience.
func TestSessionsSendTimesOut(t *testing.T) {
	t.Parallel()
	g := newGateway(t, http.StatusOK, "", "{}")
	got := execute(t, g.env(), "sessions", "send", "main", "x", "--timeout", time.Nanosecond.String())
	require.Equal(t, cli.ExitFailed, got.code)
	require.Equal(t, "sluice: ask the gateway: no reply within 1ns; the agent continues, and `sluice sessions history main` shows the reply later\n", got.err)
}

func TestDeletingASessionAsksAtATerminal(t *testing.T) {
	t.Parallel()
	const asked = "Delete a b with its transcript? [y/N] "
	for name, c := range map[string]struct {
		answer string
		args   []string
		want   result
		sent   int
	}{
		"yes":           {"Y\n", nil, result{cli.ExitDone, "a b: deleted\n", asked}, 1},
		"no":            {"n\n", nil, result{cli.ExitFailed, "", asked + "sluice: nothing was changed\n"}, 0},
		"nothing":       {"\n", nil, result{cli.ExitFailed, "", asked + "sluice: nothing was changed\n"}, 0},
		"end of input":  {"", nil, result{cli.ExitFailed, "", asked + "sluice: nothing was changed\n"}, 0},
		"without doubt": {"", []string{"--yes"}, result{cli.ExitDone, "a b: deleted\n", ""}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, http.StatusOK, "", "")
			var out bytes.Buffer
			d, stderr := deps(t, g.env(), append([]string{"sessions", "delete", "a b"}, c.args...)...)
			d.Stdout, d.Stdin, d.Terminal = &out, strings.NewReader(c.answer), true
			code := cli.Execute(t.Context(), d)
			require.Equal(t, c.want, result{code, out.String(), stderr.String()})
			require.Len(t, g.asked, c.sent)
		})
	}
}

// An empty argument names nothing, and not what comes before it in an address.
func TestAnEmptyArgumentNamesNothing(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"approvals", "allow", ""}, {"sessions", "show", ""}, {"runs", "show", ""}} {
		got := execute(t, answering(t, nil), args...)
		require.Equal(t, cli.ExitUsage, got.code)
		require.Contains(t, got.err, "an argument is empty", args)
	}
}
