package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
)

func TestRulesAreReadAsTheEngineTakesThem(t *testing.T) {
	t.Parallel()
	c := parsed(t, `
policy:
  escalation: deny
  clearance: confidential
  rules:
    - { name: a, hook: pre_tool_call, tools: ["mcp_*"], when: 'session.level > PUBLIC', action: require_approval,
        message: ask, approvers: ["telegram:1001"], timeout: 2m, onTimeout: allow, rate: { limit: 3, per: 1h, by: agent } }
    - { name: b, hook: PRE_OUTPUT, action: redact, redact: '\d{16}' }
`)
	require.Equal(t, "deny", c.Policy.Escalation)
	require.Equal(t, flow.Confidential, c.Policy.Clearance)
	require.Equal(t, []policy.Rule{
		{
			Name: "a", Hook: policy.PreToolCall, Tools: []string{"mcp_*"}, When: "session.level > PUBLIC", Action: policy.Hold, Message: "ask",
			Approvers: []string{"telegram:1001"}, Timeout: 2 * time.Minute, OnTimeout: policy.Allow,
			Rate: &policy.Rate{Limit: 3, Per: time.Hour, By: policy.RateByAgent},
		},
		{Name: "b", Hook: policy.PreOutput, Action: policy.Redact, Redact: `\d{16}`},
	}, c.Policy.PolicyRules())

	shown, err := c.YAML()
	require.NoError(t, err)
	again := parsed(t, string(shown))
	require.EqualExportedValues(t, c.Policy.Rules[0], again.Policy.Rules[0], "what config show prints is read as the same")
}

func TestEachFaultOfARuleHasItsPlace(t *testing.T) {
	t.Parallel()
	const two = "policy:\n  rules:\n    - name: x\n      hook: PRE_OUTPUT\n      action: block\n      "
	for name, test := range map[string]struct{ text, want string }{
		"inside an expression": {two + "when: text.size() >", "sluice.yaml:6:26: policy.rules[0].when: line 1, column 14 of the expression: Syntax error"},
		"unknown field":        {two + "when: output.chanel == 'x'", "sluice.yaml:6:19: policy.rules[0].when: line 1, column 7 of the expression: undefined field 'chanel'"},
		"in quotes":            {two + `when: "output.chanel == 'x'"`, "sluice.yaml:6:13: policy.rules[0].when: line 1, column 7 of the expression"},
		"on several lines":     {two + "when: |\n        true &&\n        oops", "sluice.yaml:6:13: policy.rules[0].when: line 2, column 1 of the expression"},
		"not a condition":      {two + "when: 1 + 1", "sluice.yaml:6:13: policy.rules[0].when: is a int"},
		"pattern":              {two + "redact: '('", "sluice.yaml:6:15: policy.rules[0].redact: is only for the action redact"},
		"rate":                 {two + "rate: { limit: 3 }", "sluice.yaml:6:7: policy.rules[0].rate: per: is required"},
		"empty rate":           {two + "rate: {}", "sluice.yaml:6:7: policy.rules[0].rate: is empty"},
		"approver":             {strings.Replace(two, "block", "require_approval", 1) + "approvers: [ann]", `sluice.yaml:6:19: policy.rules[0].approvers[0]: "ann": want <channel>:<user id>`},
		"no action":            {"policy: { rules: [{ name: x, hook: PRE_OUTPUT }] }", "policy.rules[0].action: is missing"},
		"no name":              {"policy: { rules: [{ hook: PRE_OUTPUT, action: block }] }", "policy.rules[0].name: is missing"},
		"hook":                 {"policy: { rules: [{ name: x, hook: PRE_OUTPT, action: block }] }", "policy.rules[0].hook: want PRE_CONTEXT_INJECTION"},
		"no hook":              {"policy: { rules: [{ name: x, action: block }] }", "policy.rules[0].hook: is missing"},
		"action of the hook":   {"policy: { rules: [{ name: x, hook: SECRET_ACCESS, action: redact, redact: x }] }", "policy.rules[0].action: SECRET_ACCESS has no redact: want block or require_approval"},
		"twice":                {"policy: { rules: [{ name: x, hook: PRE_OUTPUT, action: block }, { name: x, hook: PRE_OUTPUT, action: block }] }", `sluice.yaml:1:73: policy.rules[1].name: "x": two rules have this name`},
		"tools":                {two + "tools: [exec]", "sluice.yaml:6:7: policy.rules[0].tools: PRE_OUTPUT has no tool"},
		"no tool's pattern":    {"policy: { rules: [{ name: x, hook: PRE_TOOL_CALL, action: block, tools: [''] }] }", `policy.rules[0].tools: "": want a name, or a pattern with *`},
		"secret's pattern":     {"secrets: { crm: { value: long-enough, classification: INTERNAL, tools: [''] } }", `secrets.crm.tools[0]: "": want a name, or a pattern with *`},
		"agents' pattern":      {"tools: { agentToAgent: { allow: ['a['] } }", `tools.agentToAgent.allow[0]: "a[": want a name, or a pattern with *`},
		"escalation":           {"policy: { escalation: maybe }", "policy.escalation: want ask, auto or deny"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong := faults(t, test.text)
			require.Len(t, wrong, 1)
			require.Contains(t, wrong[0], test.want)
		})
	}
}

func TestRecipientsAndAccountsHaveLevels(t *testing.T) {
	t.Parallel()
	c := parsed(t, `
channels:
  slack:
    classification: CONFIDENTIAL
    recipients: { U0BOB: { external: true }, D0ANN: { classification: INTERNAL } }
    accounts: { default: { botToken: xoxb-1, appToken: xapp-1 }, guests: { botToken: xoxb-2, appToken: xapp-2, classification: internal } }
`)
	require.Equal(t, flow.Public, c.Channels.Slack.Recipients["U0BOB"].Level())
	require.Equal(t, flow.Internal, c.Channels.Slack.Recipients["D0ANN"].Level())
	require.Equal(t, map[string]flow.Level{"default": {}, "guests": flow.Internal}, c.Channels.Platforms()[1].Levels)
	shown, err := c.YAML()
	require.NoError(t, err)
	require.Contains(t, string(shown), "external: true")

	for _, wrong := range []string{`ann: { external: true }`, `"1": {}`, `"1": { external: true, classification: PUBLIC }`} {
		require.Contains(t, faults(t, "channels: { telegram: { accounts: { default: { token: \"1:a\" } }, recipients: { "+wrong+" } } }")[0], "channels.telegram.recipients")
	}
}

func TestTheHooksOfTheFileAreThoseOfTheEngine(t *testing.T) {
	t.Parallel()
	for _, hook := range policy.Hooks() {
		parsed(t, "policy: { rules: [{ name: x, hook: "+string(hook)+", action: block }] }")
	}
}
