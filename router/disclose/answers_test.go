package disclose

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy"
)

// Each way to withhold an answer says what the owner can do.
func TestWithheldMessage(t *testing.T) {
	t.Parallel()
	looked := func(rule string) []policy.CheckResult {
		return []policy.CheckResult{{Rule: rule, Matched: true, Action: policy.Block}}
	}
	for want, d := range map[string]policy.Decision{
		"it needs approval first": {Action: policy.Hold},
		"sending is turned off":   {Action: policy.Block, Rules: looked("override")},
		"not allowed to send it":  {Action: policy.Block, Rules: looked(policy.RuleFlow)},
	} {
		require.Contains(t, (&Withheld{Decision: d}).Message(), want)
	}
}
