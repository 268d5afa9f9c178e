package policy_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/expr"
	"sluice/policy"
	"sluice/policy/condition"
)

// A pattern from the input, and a walk within a walk, are found wherever they stand in an expression.
func TestCostlyConditionsAreFoundEverywhere(t *testing.T) {
	t.Parallel()
	const pattern, walk = `text.matches(session.key)`, `tool.args.l.all(x, tool.args.l.all(y, x == y))`
	for _, within := range []string{
		`!(%)`, `% || true`, `true && %`, `(% ? 1 : 2) == 1`, `[true, %] == [true]`, `{"a": %} == {"a": true}`, `{%: 1} == {true: 1}`,
		`string(%).startsWith("t")`, `"x".startsWith(string(%))`, `size(string(%)) > 1`, `tool.args.l.exists(x, %)`, `[%].exists(x, x)`, `{"a": %}.a`,
	} {
		for costly, want := range map[string]string{pattern: "the pattern must be a quoted string", walk: "has nested loops over lists"} {
			_, err := condition.NewRules([]policy.Rule{rule(policy.Block, strings.ReplaceAll(within, "%", costly))})
			require.ErrorContains(t, err, want, "%s within %s", costly, within)
		}
	}
	for _, fine := range []string{
		`text.matches("a+") && tool.args.l.all(x, x == 1) && tool.args.l.exists(y, y == 2)`,
		`[tool.args.l.all(x, x == 1)].all(y, y)`, // beside each other: the inner list is walked before
	} {
		_, err := condition.NewRules([]policy.Rule{rule(policy.Block, fine)})
		require.NoError(t, err, fine)
	}
}

func TestLongestCondition(t *testing.T) {
	t.Parallel()
	when := func(length int) policy.Rule {
		return rule(policy.Block, `text == "`+strings.Repeat("x", length-10)+`"`)
	}
	_, err := condition.NewRules([]policy.Rule{when(4096)})
	require.NoError(t, err)
	_, err = condition.NewRules([]policy.Rule{when(4097)})
	require.ErrorContains(t, err, "is 4097 bytes long, the maximum is 4096")
}

// A rule's fault names its field, and the error within can be looked at.
func TestFaultsOfRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule policy.Rule
		want string
	}{
		"tools of a hook without":  {policy.Rule{Name: "r", Hook: policy.PreOutput, Action: policy.Block, Tools: []string{"x"}}, "policy.rules[0].tools: PRE_OUTPUT has no tool"},
		"tool pattern":             {policy.Rule{Name: "r", Hook: policy.PreToolCall, Action: policy.Block, Tools: []string{"["}}, `policy.rules[0].tools: "[": want a name`},
		"redact of another action": {policy.Rule{Name: "r", Hook: policy.PreOutput, Action: policy.Block, Redact: "x"}, "policy.rules[0].redact: is only for the action redact"},
		"onTimeout":                {policy.Rule{Name: "r", Hook: policy.PreOutput, Action: policy.Hold, OnTimeout: policy.Hold}, `policy.rules[0].onTimeout: "hold": want block or allow`},
		"timeout":                  {policy.Rule{Name: "r", Hook: policy.PreOutput, Action: policy.Hold, Timeout: -1}, "policy.rules[0].timeout: -1ns is less than 0"},
	} {
		_, err := condition.NewRules([]policy.Rule{c.rule})
		require.ErrorContains(t, err, c.want, name)
	}
	for _, hook := range []policy.Hook{policy.PreToolCall, policy.PostToolResponse, policy.MCPToolCall, policy.AgentInvocation, policy.SecretAccess} {
		_, err := condition.NewRules([]policy.Rule{{Name: "r", Hook: hook, Action: policy.Block, Tools: []string{"x"}}})
		require.NoError(t, err, "%s is about a tool", hook)
	}
	_, err := condition.NewRules([]policy.Rule{rule(policy.Block, "session.level >")})
	var place *expr.Fault
	require.ErrorAs(t, err, &place)
	require.Equal(t, 1, place.Line)
	var fault *policy.RuleError
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "when", fault.Field)
}

// A text that is still being written does not hide that the rest of a condition can't be evaluated.
func TestUnfinishedTextFailsClosed(t *testing.T) {
	t.Parallel()
	g := ruled(t, policy.Rule{Name: "r", Hook: policy.PreOutput, When: `int(output.to) > 0`, Action: policy.Block})
	e := said("hello")
	e.Route.Conversation, e.Partial = "xyz", true
	d := g.Decide(e)
	require.Equal(t, policy.Block, d.Action)
	require.Contains(t, d.Rules[len(d.Rules)-1].Detail, "could not be evaluated")

	g = ruled(t, policy.Rule{Name: "r", Hook: policy.PreOutput, When: `output.to == "xyz"`, Action: policy.Block})
	require.Equal(t, policy.Block, g.Decide(e).Action)
	e.Route.Conversation = "abc"
	require.Equal(t, policy.Allow, g.Decide(e).Action)
}

// Rules are compiled beside each other: a configuration is read again while somebody checks another one.
func TestConditionsAreCompiledBesideEachOther(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	begin := make(chan struct{})
	for _, expression := range []string{`tool.args.l.exists(x, x == "a")`, `taint > PUBLIC`} { // the library looks for names like the second one
		for range 20 {
			all.Go(func() {
				<-begin
				_, _ = condition.NewRules([]policy.Rule{rule(policy.Block, expression)})
			})
		}
	}
	close(begin)
	all.Wait()
}
