package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

func TestHoldingNamesTheRulesThatHold(t *testing.T) {
	t.Parallel()
	d := policy.Decision{Rules: []policy.CheckResult{
		{Rule: "matched", Matched: true, Action: policy.Hold},
		{Rule: "not matched", Action: policy.Hold},
		{Rule: "of another kind", Matched: true, Action: policy.Block},
		{Rule: "matched too", Matched: true, Action: policy.Hold},
	}}
	require.Equal(t, []string{"matched", "matched too"}, d.Holding())
}

// What an earlier decision took out of a text can't be found again, so the later one repeats it.
func TestStill(t *testing.T) {
	t.Parallel()
	rules := []policy.CheckResult{{Rule: "policy.rules.r", Matched: true, Action: policy.Redact}}
	fresh := policy.Decision{Action: policy.Allow, Reason: "nothing forbids it"}
	for name, c := range map[string]struct {
		before *policy.Decision
		now    policy.Action
		want   policy.Decision
	}{
		"there was none":           {nil, policy.Allow, fresh},
		"nothing was taken out":    {&policy.Decision{Action: policy.Redact, Reason: "r", Rules: rules}, policy.Allow, fresh},
		"it was redacted":          {&policy.Decision{Action: policy.Redact, Reason: "r", Rules: rules, Removed: true}, policy.Allow, policy.Decision{Action: policy.Redact, Reason: "r", Rules: rules, Removed: true}},
		"it was redacted and held": {&policy.Decision{Action: policy.Hold, Reason: "r", Rules: rules, Removed: true}, policy.Allow, policy.Decision{Action: policy.Redact, Reason: "nothing forbids it", Removed: true}},
		"it is blocked now": {
			&policy.Decision{Action: policy.Redact, Reason: "r", Rules: rules, Removed: true}, policy.Block,
			policy.Decision{Action: policy.Block, Reason: "nothing forbids it", Removed: true},
		},
	} {
		d := fresh
		d.Action = c.now
		d.KeepRedaction(c.before)
		require.Equal(t, c.want, d, name)
	}
}

// Unsent is what the send policy forbids, and not what anything else does.
func TestUnsent(t *testing.T) {
	t.Parallel()
	looked := func(action policy.Action, rules ...string) *policy.Decision {
		d := &policy.Decision{Action: action}
		for _, r := range rules {
			d.Rules = append(d.Rules, policy.CheckResult{Rule: r})
		}
		return d
	}
	require.True(t, looked(policy.Block, "flow", "override").SendDenied())
	require.True(t, looked(policy.Block, "flow", "override", "sendPolicy.rules[0]").SendDenied())
	require.True(t, looked(policy.Block, "flow", "override", "sendPolicy.default").SendDenied())
	require.False(t, looked(policy.Block, "flow").SendDenied(), "the flow check")
	require.False(t, looked(policy.Block, "flow", "override", "sendPolicy.default", "policy.rules.r").SendDenied(), "a rule")
	require.False(t, looked(policy.Allow, "flow", "override", "sendPolicy.default").SendDenied(), "what is allowed")
	require.False(t, looked(policy.Allow, "flow", "override").SendDenied(), "what is allowed by /send on")
}

func TestSame(t *testing.T) {
	t.Parallel()
	decision := func() *policy.Decision {
		return &policy.Decision{Action: policy.Block, Reason: "r", Rules: []policy.CheckResult{{Rule: "flow", Matched: true, Action: policy.Block}}}
	}
	require.True(t, decision().Same(decision()))
	var missing *policy.Decision
	require.False(t, missing.Same(decision()))
	require.False(t, decision().Same(nil))
	for name, change := range map[string]func(*policy.Decision){
		"action": func(d *policy.Decision) { d.Action = policy.Allow },
		"reason": func(d *policy.Decision) { d.Reason = "another" },
		"rules":  func(d *policy.Decision) { d.Rules[0].Matched = false },
	} {
		other := decision()
		change(other)
		require.False(t, decision().Same(other), name)
	}
}

func TestAddRecordsTheCheck(t *testing.T) {
	t.Parallel()
	d := policy.Decision{Action: policy.Allow, Reason: "nothing forbids it"}
	d.Add("permission", policy.Block, "the mode forbids it")
	require.Equal(t, policy.Decision{
		Action: policy.Block, Reason: "the mode forbids it",
		Rules: []policy.CheckResult{{Rule: "permission", Matched: true, Action: policy.Block}},
	}, d)
}

// What nothing is taken out of stays as it was written; where something is, numbers keep their digits.
func TestArgumentsStayAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	args := `{ "n": 12345678901234567890.10,  "text": "a secret" }`
	w := world{carries: flow.Restricted, escalation: policy.EscalationAuto}
	_, got := w.monitor(t).Ask(crm(flow.Restricted, flow.Bottom(), args), true)
	require.Equal(t, args, string(got))

	w.rules = []policy.Rule{{Name: "r", Hook: policy.PreToolCall, Action: policy.Redact, Redact: "secret"}}
	d, got := w.monitor(t).Ask(crm(flow.Restricted, flow.Bottom(), args), true)
	require.Equal(t, policy.Redact, d.Action)
	require.Contains(t, string(got), `"n":12345678901234567890.10`)
	require.Contains(t, string(got), `"text":"a [redacted]"`)

	for _, broken := range []string{`{"text": "a secret"`, `{"text":"a secret"} {}`} {
		d, got = w.monitor(t).Ask(crm(flow.Restricted, flow.Bottom(), broken), true)
		require.Equal(t, policy.Block, d.Action, broken)
		require.Contains(t, d.Reason, "its arguments can't be read: ", broken)
		require.Nil(t, got, broken)
	}
}

// A simulation says the action in the words of its API, with all that was looked at.
func TestSimulationTakesTheDecision(t *testing.T) {
	t.Parallel()
	rules := []policy.CheckResult{{Rule: "flow", Action: policy.Block}}
	for action, word := range map[policy.Action]string{policy.Allow: "ALLOW", policy.Block: "BLOCK", policy.Redact: "REDACT", policy.Hold: "REQUIRE_APPROVAL"} {
		var s policy.Simulation
		s.Decide(policy.Decision{Action: action, Reason: "r", Rules: rules})
		require.Equal(t, policy.Simulation{Decision: word, Reason: "r", Rules: rules}, s)
	}
}

func TestNamePatterns(t *testing.T) {
	t.Parallel()
	require.NoError(t, policy.CheckNamePattern("mcp_*"))
	for _, pattern := range []string{"", "[", "mcp_["} {
		require.ErrorContains(t, policy.CheckNamePattern(pattern), "want a name, or a pattern with *", "%q", pattern)
	}
}

// Each decision of the send policy says which setting made it.
func TestSendPolicyGivesItsReason(t *testing.T) {
	t.Parallel()
	decide := func(p policy.Action, rules ...policy.SendRule) string {
		send, err := policy.NewSendPolicy(p, rules)
		require.NoError(t, err)
		d := policy.NewGate(map[string]policy.Sink{"discord": {Level: flow.Restricted}}, send, nil).Decide(discordGroup())
		return d.Reason
	}
	require.Equal(t, "session.sendPolicy.default allows it", decide(policy.Allow))
	require.Equal(t, "session.sendPolicy.default forbids what no rule allows; add an allow rule, or send /send on in the session", decide(policy.Block))
	upper := policy.SendMatch{Channel: "DISCORD", Account: "DEFAULT", Agent: "MAIN", Kind: "REPLY"}
	require.Contains(t, decide(policy.Allow, policy.SendRule{Match: upper, Action: policy.Block}), "session.sendPolicy.rules[0] forbids it")
}

// The places that may be too low for a text are named, a recipient among them.
func TestLowRecipientIsNamed(t *testing.T) {
	t.Parallel()
	g := policy.NewGate(map[string]policy.Sink{"telegram": {Level: flow.Restricted, Recipients: map[string]flow.Level{"1001": flow.Public}}}, nil, nil)
	e := said("x")
	e.Label = flow.NewLabel(flow.Internal, flow.Trusted)
	require.Contains(t, g.Decide(e).Reason, "channels.telegram.recipients.1001")
	require.Contains(t, g.Decide(e).Reason, "telegram conversation 1001 may receive at most PUBLIC")
	e.Route = sessions.Route{Channel: "discord"}
	require.Contains(t, g.Decide(e).Reason, "channel discord may receive at most PUBLIC")
}

func TestSubjectMayReadWhatIsNotAboveIt(t *testing.T) {
	t.Parallel()
	for _, taint := range flow.Levels() {
		for _, object := range flow.Levels() {
			s := policy.Subject{Taint: flow.NewLabel(taint, flow.Trusted), Clearance: flow.Restricted}
			require.Equal(t, object.Rank() <= taint.Rank(), s.May(policy.CheckClearance, flow.NewLabel(object, flow.Untrusted)), "%s reads %s", taint, object)
		}
	}
	require.False(t, policy.Subject{Taint: flow.Top()}.May(policy.CheckClearance, flow.Label{}), "what has lost its label")
}

func TestMonitorNeedsItsParts(t *testing.T) {
	t.Parallel()
	good := policy.MonitorConfig{Escalation: policy.EscalationAsk, SinkLevel: func(sessions.Route) flow.Level { return flow.Public }, Now: clock}
	_, err := policy.NewMonitor(good)
	require.NoError(t, err)
	bad := good
	bad.Escalation = "perhaps"
	_, err = policy.NewMonitor(bad)
	require.ErrorContains(t, err, `policy.escalation: "perhaps": want ask, auto or deny`)
	bad = good
	bad.SinkLevel = nil
	_, err = policy.NewMonitor(bad)
	require.ErrorContains(t, err, "a required field is not set")
	bad = good
	bad.Now = nil
	_, err = policy.NewMonitor(bad)
	require.ErrorContains(t, err, "a required field is not set")
}

// A call's arguments are an object to the rules, whatever the model wrote.
func TestRulesSeeArgumentsAsAnObject(t *testing.T) {
	t.Parallel()
	for _, args := range []string{``, `null`, `[1]`, `{`, `{}`} {
		w := world{carries: flow.Restricted, escalation: policy.EscalationAuto, rules: []policy.Rule{{Name: "r", Hook: policy.PreToolCall, When: `!has(tool.args.x) && size(tool.args) == 0`, Action: policy.Block}}}
		call := crm(flow.Restricted, flow.Bottom(), "")
		call.Args = json.RawMessage(args)
		d, _ := w.monitor(t).Ask(call, true)
		require.Equal(t, policy.Block, d.Action, "%s", args)
		require.Empty(t, d.Rules[len(d.Rules)-1].Detail, "%s: the rule could be evaluated", args)
	}
}
