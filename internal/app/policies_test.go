package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/modeltest"
)

type policyShown struct {
	Matrix []struct {
		Session, Key string
		Policy       string `json:"send_policy"`
		Cells        []struct {
			Channel  string
			ChatType string `json:"chat_type"`
			Action   string
			Rule     string
			Except   []string
		}
	}
	Rules []struct {
		Rule, Hook, Action string
		Fired              struct {
			Count int
			More  bool
		}
	}
	Channels []struct{ Channel, Level string }
	Looked   struct{ Entries int }
}

type backtested struct {
	Deliveries, Calls int
	Bound             string
	Count             map[string]int
	Changed           []struct{ Kind, Delivery, Run, Tool, Text, Was, Would string }
	Untried           []string
}

func (g *gateway) backtest(status int, policy string, headers ...string) (got backtested) {
	g.t.Helper()
	body, err := json.Marshal(map[string]string{"policy": policy})
	require.NoError(g.t, err)
	into := any(&got)
	if status != http.StatusOK {
		into = nil
	}
	read(g.t, g.call(http.MethodPost, "/v1/policy/backtest", string(body), headers...), status, into)
	return got
}

// policyOnce is the policy once a rule has applied at least n times.
func (g *gateway) policyOnce(t *testing.T, rule string, n int) (got policyShown) {
	t.Helper()
	g.soon(func() bool {
		got = policyShown{}
		read(t, g.call(http.MethodGet, "/v1/policy", ""), http.StatusOK, &got)
		for _, r := range got.Rules {
			if r.Rule == rule {
				return r.Fired.Count >= n
			}
		}
		return false
	})
	return got
}

// The matrix says for each channel, kind of chat and session what may be sent, and by which rule; rules are listed with how
// often they applied.
func TestPolicyIsShownAsAWhole(t *testing.T) {
	t.Parallel()
	g := start(t, `models: { default: offline/echo }
session: { sendPolicy: { default: allow, rules: [ { match: { channel: webchat, chatType: group }, action: deny }, { match: { channel: webchat, to: x }, action: deny } ] } }
policy: { rules: [ { name: figures, hook: PRE_OUTPUT, when: 'text.contains("figures")', action: block } ] }
`)
	say := func(text string) {
		read(t, g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"`+text+`"}`), http.StatusAccepted, nil)
	}
	say("the figures")
	say("more figures")
	say("hello")
	g.policyOnce(t, "sendPolicy.default", 3)
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"/send off"}`), http.StatusOK, nil)

	got := g.policyOnce(t, "policy.rules.figures", 2)
	require.Len(t, got.Matrix, 2)
	cells := map[string]string{}
	for _, row := range got.Matrix {
		for _, c := range row.Cells {
			cells[row.Key+"/"+c.Channel+"/"+c.ChatType] = c.Action + " " + c.Rule + " " + strings.Join(c.Except, ",")
		}
	}
	require.Equal(t, "allow sendPolicy.default sendPolicy.rules[1],policy.rules.figures", cells["/webchat/direct"])
	require.Equal(t, "block sendPolicy.rules[0] sendPolicy.rules[1],policy.rules.figures", cells["/webchat/group"])
	require.Equal(t, "block override sendPolicy.rules[1],policy.rules.figures", cells["agent:main:main/webchat/direct"])
	require.Equal(t, "deny", got.Matrix[1].Policy)
	fired := map[string]int{}
	for _, r := range got.Rules {
		fired[r.Rule] = r.Fired.Count
	}
	require.Equal(t, 2, fired["policy.rules.figures"])
	require.Equal(t, 3, fired["sendPolicy.default"], "%v", fired)
	require.Positive(t, got.Looked.Entries)
	require.Zero(t, fired["sendPolicy.rules[0]"])
	require.Contains(t, fmt.Sprint(got.Channels), "{webchat ")

	read(t, g.call(http.MethodGet, "/v1/policy?rule=figures", ""), http.StatusOK, &got)
	require.Len(t, got.Rules, 1)
	read(t, g.call(http.MethodGet, "/v1/policy?channel=nothing", ""), http.StatusOK, &got)
	require.Empty(t, got.Channels)
}

// A proposed policy is tested on the past: what it would have decided differently is listed, nothing changes, and only what
// the caller may see counts.
func TestBacktest(t *testing.T) {
	t.Parallel()
	_, models := platforms(t)
	g := start(t, withModels(models)+"session: { sendPolicy: { default: allow, rules: [ { match: { channel: webchat, chatType: group }, action: deny } ] } }\n")
	for i := range 3 {
		read(t, g.call(http.MethodPost, "/v1/messages", fmt.Sprintf(`{"channel":"webchat","to":"local","text":"figures %d"}`, i)), http.StatusAccepted, nil)
	}
	read(t, g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"secret figures","label":"INTERNAL"}`), http.StatusAccepted, nil)
	read(t, g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"hello"}`), http.StatusAccepted, nil)
	models.Enqueue(modeltest.Call("memory_save", `{"key":"plan","content":"1"}`), modeltest.Say("It is kept."))
	read(t, g.call(http.MethodPost, "/v1/sessions/main/messages", `{"message":"keep it"}`), http.StatusOK, nil)

	g.delivered()
	got := g.backtest(http.StatusOK, "name: figures\nhook: PRE_OUTPUT\nwhen: text.contains(\"figures\")\naction: block\n")
	require.Equal(t, map[string]int{"block": 3}, got.Count, "%+v", got)
	require.Equal(t, "none", got.Bound)
	require.Len(t, got.Changed, 3)
	require.Equal(t, []string{"delivery", "allow", "block"}, []string{got.Changed[0].Kind, got.Changed[0].Was, got.Changed[0].Would})
	require.Equal(t, "figures 2", got.Changed[0].Text, "the newest first")
	require.NotEmpty(t, got.Changed[0].Delivery)

	rate := "[{ name: often, hook: PRE_OUTPUT, when: 'text.startsWith(\"figures\")', action: require_approval, rate: { limit: 1, per: 1h } }, { name: keep, hook: PRE_TOOL_CALL, tools: [memory_*], when: 'tool.args.key == \"plan\"', action: require_approval }, { name: in, hook: PRE_CONTEXT_INJECTION, action: block }]"
	got = g.backtest(http.StatusOK, rate)
	require.Equal(t, map[string]int{"hold": 3}, got.Count, "the first of three messages is below the rate: %+v", got.Changed)
	require.Equal(t, 1, got.Calls)
	require.Equal(t, "memory_save", got.Changed[0].Tool)
	require.Len(t, got.Untried, 1)

	got = g.backtest(http.StatusOK, "session: { sendPolicy: { default: deny } }")
	require.Equal(t, 5, got.Count["block"], "%+v", got)

	low := g.tokenOf("operator", "PUBLIC")
	again := g.backtest(http.StatusOK, "session: { sendPolicy: { default: deny } }", "Authorization", "Bearer "+low)
	require.Equal(t, got.Deliveries-1, again.Deliveries, "what is above the caller is not counted")

	for _, wrong := range []string{"x", "{}", "[]", "{ name: a, hook: PRE_OUTPUT, action: blck }", "{ name: a, hook: PRE_OUTPUT, when: 'x ==', action: block }", "{ name: \"\\x24{file:/etc/passwd}\", hook: PRE_OUTPUT, action: block }", "a: &a [*a]", "{ name: ${HOME}, hook: PRE_OUTPUT, action: block }", "models: { default: x/y }"} {
		g.backtest(http.StatusUnprocessableEntity, wrong)
	}
	g.backtest(http.StatusForbidden, "{ name: a, hook: PRE_OUTPUT, action: block }", "Authorization", "Bearer "+g.tokenOf("viewer", "RESTRICTED"))
}

// Why shows the rules as they were when they decided, whatever the configuration says now.
func TestWhyShowsRulesAsTheyWere(t *testing.T) {
	t.Parallel()
	g := start(t, "models: { default: offline/echo }\npolicy: { rules: [ { name: figures, hook: PRE_OUTPUT, when: 'text.contains(\"figures\")', action: block, message: as it was } ] }\n")
	var sent struct{ ID string }
	read(t, g.call(http.MethodPost, "/v1/messages", `{"channel":"webchat","to":"local","text":"the figures"}`), http.StatusAccepted, &sent)
	g.policyOnce(t, "policy.rules.figures", 1)
	why := func() string {
		text, err := io.ReadAll(g.call(http.MethodGet, "/v1/why/"+sent.ID, "").Body)
		require.NoError(t, err)
		return string(text)
	}
	g.soon(func() bool { return strings.Contains(why(), `"status":"blocked"`) })
	before := why()
	require.Contains(t, before, `"rule":"policy.rules.figures","matched":true,"action":"block"`)
	require.Contains(t, before, "as it was")
	next := load(t, g.state, "models: { default: offline/echo }\npolicy: { rules: [ { name: other, hook: PRE_OUTPUT, when: 'text.contains(\"figures\")', action: block, message: as it is } ] }\n")
	next.Gateway = g.cfg.Gateway
	_, err := g.Reload(next)
	require.NoError(t, err)
	require.Equal(t, before, why())
}
