package policy_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/policy"
	"sluice/policy/condition"
	"sluice/sessions"
)

func toolCall() policy.Input {
	return policy.Input{
		ID: "call-1", Hook: policy.PreToolCall, Now: time.Date(2026, 3, 2, 23, 0, 0, 0, time.UTC),
		Session: policy.SessionInput{ID: "s", Key: "agent:main:main", Agent: "main", Level: 3, Trust: "untrusted", Clearance: 4, Channel: "telegram", ChatType: "direct", User: "telegram:7"},
		Tool:    policy.ToolInput{Name: "web_fetch", Args: map[string]any{"url": "https://example.com/a?token=abc", "n": 3.0, "list": []any{"a", "b"}}, Sink: 1, Writes: "outside"},
	}
}

func decide(t require.TestingT, in policy.Input, rules ...policy.Rule) policy.Decision {
	set, err := condition.NewRules(rules)
	require.NoError(t, err)
	d := policy.Decision{Action: policy.Allow}
	set.Decide(&in, &d, true)
	return d
}

func rule(action policy.Action, when string) policy.Rule {
	r := policy.Rule{Name: "r", Hook: policy.PreToolCall, Action: action, When: when}
	if action == policy.Redact {
		r.Redact = "token=[a-z]+"
	}
	return r
}

func TestConditions(t *testing.T) {
	t.Parallel()
	for when, want := range map[string]bool{
		"":                                   true,
		"true":                               true,
		"session.level >= CONFIDENTIAL":      true,
		"session.level > CONFIDENTIAL":       false,
		`session.trust == "untrusted"`:       true,
		`tool.name == "web_fetch"`:           true,
		`tool.args.url.contains("token=")`:   true,
		`tool.args.url.matches("^https://")`: true,
		`tool.args.n > 2.0`:                  true,
		`tool.args.list.exists(x, x == "b")`: true,
		`has(tool.args.to)`:                  false,
		`now.getHours("Europe/Berlin") == 0`: true,
		`session.owner`:                      false,
		`tool.sink < session.level`:          true,
		`session.user.startsWith("telegram:") && !(session.chatType in ["group", "channel"])`: true,
	} {
		d := decide(t, toolCall(), rule(policy.Block, when))
		require.Equal(t, want, d.Action == policy.Block, "%s: %+v", when, d)
		require.Len(t, d.Rules, 1, "a rule that was looked at is named, whether it applies or not")
		require.Equal(t, "policy.rules.r", d.Rules[0].Rule)
	}
}

func TestRulesThatCanNotBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule policy.Rule
		want string
	}{
		"syntax":          {rule(policy.Block, "session.level >"), "policy.rules[0].when: line 1, column 16 of the expression: Syntax error"},
		"unknown field":   {rule(policy.Block, "session.lvel > PUBLIC"), "line 1, column 8 of the expression: undefined field 'lvel'"},
		"unknown name":    {rule(policy.Block, "taint > PUBLIC"), "undeclared reference to 'taint'"},
		"level as text":   {rule(policy.Block, `session.level > "INTERNAL"`), "found no matching overload"},
		"no bool":         {rule(policy.Block, "session.level"), "is a int, want true or false"},
		"pattern":         {rule(policy.Block, `text.matches(session.key)`), "the pattern must be a quoted string"},
		"bad pattern":     {rule(policy.Block, `text.matches("(")`), "policy.rules[0].when"},
		"quadratic":       {rule(policy.Block, `tool.args.list.all(x, tool.args.list.all(y, x == y))`), "has nested loops over lists"},
		"long":            {rule(policy.Block, strings.Repeat("true && ", 600)+"true"), "the maximum is 4096"},
		"allows":          {rule(policy.Allow, ""), `policy.rules[0].action: "allow": at PRE_TOOL_CALL a rule can be one of [block redact hold]`},
		"hook":            {policy.Rule{Name: "r", Hook: "PRE_EVERYTHING", Action: policy.Block}, `policy.rules[0].hook: "PRE_EVERYTHING": want one of`},
		"hold at reset":   {policy.Rule{Name: "r", Hook: policy.SessionReset, Action: policy.Hold}, "at SESSION_RESET a rule can be one of [block]"},
		"redacts nothing": {policy.Rule{Name: "r", Hook: policy.PreOutput, Action: policy.Redact}, "policy.rules[0].redact: is required"},
		"redact pattern":  {policy.Rule{Name: "r", Hook: policy.PreOutput, Action: policy.Redact, Redact: "("}, "policy.rules[0].redact"},
		"no name":         {policy.Rule{Hook: policy.PreOutput, Action: policy.Block}, "policy.rules[0].name: is required"},
		"rate":            {policy.Rule{Name: "r", Hook: policy.PreOutput, Action: policy.Block, Rate: &policy.Rate{Limit: 0}}, "policy.rules[0].rate: limit"},
		"terms":           {policy.Rule{Name: "r", Hook: policy.PreOutput, Action: policy.Block, Timeout: time.Hour}, "are for require_approval"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := condition.NewRules([]policy.Rule{c.rule})
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := condition.NewRules([]policy.Rule{rule(policy.Block, ""), rule(policy.Block, "")})
	require.ErrorContains(t, err, "two rules have this name")
}

// What can't be evaluated applies, and one that would have taken something out blocks.
func TestRulesFailClosed(t *testing.T) {
	t.Parallel()
	for _, action := range []policy.Action{policy.Block, policy.Redact} {
		d := decide(t, toolCall(), rule(action, `tool.args.missing == "x"`))
		require.Equal(t, policy.Block, d.Action)
		require.Contains(t, d.Rules[0].Detail, "could not be evaluated")
	}
	require.Equal(t, policy.Hold, decide(t, toolCall(), rule(policy.Hold, `tool.args.missing == "x"`)).Action)
	in := toolCall()
	in.Hook = "POST_MORTEM"
	require.Equal(t, policy.Block, decide(t, in).Action, "an unknown hook is blocked")
}

// An expression that takes too long is stopped, and what it was about is blocked.
func TestRulesHaveADeadline(t *testing.T) {
	t.Parallel()
	in := toolCall()
	list := make([]any, 1_000_000)
	for i := range list {
		list[i] = "x"
	}
	in.Tool.Args["list"] = list
	begun := time.Now()
	d := decide(t, in, rule(policy.Block, `tool.args.list.all(x, x.size() == 1 && x.contains("x")) == false`))
	require.Equal(t, policy.Block, d.Action)
	require.Contains(t, d.Rules[0].Detail, "could not be evaluated")
	require.Less(t, time.Since(begun), 20*time.Second)
}

func TestRedaction(t *testing.T) {
	t.Parallel()
	d := decide(t, toolCall(), rule(policy.Redact, ""))
	require.Equal(t, policy.Redact, d.Action)
	require.Equal(t, "a [redacted] b", d.Redacted("a token=abc b"))
	args, err := d.RedactedArgs([]byte(`{"url":"x?token=abc","deep":[{"t":"token=q"}],"n":1}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"url":"x?[redacted]","deep":[{"t":"[redacted]"}],"n":1}`, string(args))
}

func TestTermsOfSeveralRulesAllHold(t *testing.T) {
	t.Parallel()
	a, b := rule(policy.Hold, ""), rule(policy.Hold, "")
	a.Name, a.Approvers, a.Timeout, a.OnTimeout = "a", []string{"slack:U1"}, time.Hour, policy.Allow
	b.Name, b.Timeout = "b", time.Minute
	d := decide(t, toolCall(), a, b)
	require.Equal(t, policy.Hold, d.Action)
	require.Equal(t, &sessions.Terms{Approvers: [][]string{{"slack:U1"}, {}}, Timeout: time.Minute, Rules: []string{"policy.rules.a", "policy.rules.b"}}, d.Terms)
	text, err := json.Marshal(d.Terms)
	require.NoError(t, err)
	require.JSONEq(t, `{"approvers":[["slack:U1"],[]],"timeout":60000000000,"rules":["policy.rules.a","policy.rules.b"]}`, string(text), "the owners are an empty list")
}

// Decisions that were stored when the terms of a hold had other names are read, and silence is a no.
func TestStoredTermsAreRead(t *testing.T) {
	t.Parallel()
	var d policy.Decision
	require.NoError(t, json.Unmarshal([]byte(`{"action":"hold","reason":"r","rules":[],"terms":{"approvers":[["slack:U1"]],"timeout":60000000000,"onTimeout":"allow"}}`), &d))
	require.Equal(t, &sessions.Terms{Approvers: [][]string{{"slack:U1"}}, Timeout: time.Minute}, d.Terms)
}

func TestRate(t *testing.T) {
	t.Parallel()
	r := rule(policy.Block, "")
	r.Rate = &policy.Rate{Limit: 2, Per: time.Minute, By: policy.RateBySession}
	set, err := condition.NewRules([]policy.Rule{r})
	require.NoError(t, err)
	ask := func(session, id string, at time.Duration, effects bool) policy.Action {
		in := toolCall()
		in.Session.ID, in.ID, in.Now = session, id, in.Now.Add(at)
		d := policy.Decision{Action: policy.Allow}
		set.Decide(&in, &d, effects)
		return d.Action
	}
	require.Equal(t, policy.Allow, ask("a", "1", 0, true))
	require.Equal(t, policy.Allow, ask("a", "1", 0, true), "asked again it counts once")
	for range 5 {
		require.Equal(t, policy.Allow, ask("a", "x", 0, false), "a simulation doesn't count")
	}
	require.Equal(t, policy.Allow, ask("a", "2", time.Second, true))
	require.Equal(t, policy.Block, ask("a", "3", 2*time.Second, true))
	require.Equal(t, policy.Block, ask("a", "3", 2*time.Second, false), "a simulation sees the rate")
	require.Equal(t, policy.Allow, ask("b", "4", 2*time.Second, true))
	require.Equal(t, policy.Allow, ask("a", "3", time.Minute, true), "the first one is out of its time")
}

// What was counted is not forgotten when the configuration is read again, for rules that still count the same.
func TestRatesOutliveAReload(t *testing.T) {
	t.Parallel()
	counts := func() policy.Rule {
		r := rule(policy.Block, "")
		r.Rate = &policy.Rate{Limit: 1, Per: time.Minute}
		return r
	}
	id := 0
	ask := func(set *policy.Rules) policy.Action {
		in := toolCall()
		id++
		in.ID = strconv.Itoa(id)
		d := policy.Decision{Action: policy.Allow}
		set.Decide(&in, &d, true)
		return d.Action
	}
	for name, c := range map[string]struct {
		change func(*policy.Rule)
		want   policy.Action
	}{
		"unchanged":      {func(*policy.Rule) {}, policy.Block},
		"other words":    {func(r *policy.Rule) { r.Message, r.When = "slowly", "true" }, policy.Block},
		"another name":   {func(r *policy.Rule) { r.Name = "x" }, policy.Allow},
		"another limit":  {func(r *policy.Rule) { r.Rate.Limit = 2 }, policy.Allow},
		"counted apart":  {func(r *policy.Rule) { r.Rate.By = policy.RateByTool }, policy.Allow},
		"not any more":   {func(r *policy.Rule) { r.Rate, r.When = nil, "false" }, policy.Allow},
		"no rate before": {nil, policy.Allow},
	} {
		first, second := counts(), counts()
		if c.change == nil {
			first.Rate, first.When = nil, "false"
		} else {
			c.change(&second)
		}
		before, err := condition.NewRules([]policy.Rule{first})
		require.NoError(t, err)
		require.Equal(t, policy.Allow, ask(before))
		after, err := condition.NewRules([]policy.Rule{second})
		require.NoError(t, err)
		after.Continue(before)
		require.Equal(t, c.want, ask(after), name)
	}
	fresh, err := condition.NewRules([]policy.Rule{counts()})
	require.NoError(t, err)
	fresh.Continue(nil)
	require.Equal(t, policy.Allow, ask(fresh))
}

// No rule, in whatever company, makes a decision milder.
func TestRulesOnlyTightenProperty(t *testing.T) {
	t.Parallel()
	order := []policy.Action{policy.Allow, policy.Redact, policy.Hold, policy.Block}
	at := func(a policy.Action) int {
		for i, x := range order {
			if x == a {
				return i
			}
		}
		return -1
	}
	rapid.Check(t, func(rt *rapid.T) {
		var rules []policy.Rule
		for i := range rapid.IntRange(0, 6).Draw(rt, "rules") {
			r := rule(rapid.SampledFrom(order[1:]).Draw(rt, "action"), rapid.SampledFrom([]string{"", "false", "session.level > INTERNAL", `tool.args.missing == "x"`}).Draw(rt, "when"))
			r.Name = string(rune('a' + i))
			rules = append(rules, r)
		}
		before := rapid.SampledFrom(order).Draw(rt, "before")
		set, err := condition.NewRules(rules)
		require.NoError(rt, err)
		in := toolCall()
		d := policy.Decision{Action: before}
		set.Decide(&in, &d, true)
		require.GreaterOrEqual(rt, at(d.Action), at(before))
		require.Len(rt, d.Rules, len(rules), "every rule that was looked at is recorded")
		for _, l := range d.Rules {
			if l.Matched {
				require.GreaterOrEqual(rt, at(d.Action), at(l.Action))
			}
		}
	})
}

func BenchmarkRules(b *testing.B) {
	var rules []policy.Rule
	for i := range 10 {
		r := rule(policy.Block, `session.level >= RESTRICTED && tool.args.url.matches("^https://intern")`)
		r.Name = string(rune('a' + i))
		rules = append(rules, r)
	}
	set, err := condition.NewRules(rules)
	require.NoError(b, err)
	in := toolCall()
	for b.Loop() {
		d := policy.Decision{Action: policy.Allow}
		set.Decide(&in, &d, true)
	}
}
