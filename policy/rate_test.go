package policy_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/condition"
	"sluice/policy/flow"
)

func TestRatesThatCanNotBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rate policy.Rate
		want string
	}{
		"no limit":  {policy.Rate{Per: time.Hour}, "limit: 0 is not between 1 and 10000"},
		"much":      {policy.Rate{Limit: 10_001, Per: time.Hour}, "limit: 10001 is not between 1 and 10000"},
		"no time":   {policy.Rate{Limit: 1}, "per: is required, for example 1h"},
		"less time": {policy.Rate{Limit: 1, Per: -time.Hour}, "per: is required, for example 1h"},
		"by":        {policy.Rate{Limit: 1, Per: time.Hour, By: "moon"}, `by: "moon": want one of [session agent tool user conversation]`},
		"the least": {policy.Rate{Limit: 1, Per: 1}, ""},
		"the most":  {policy.Rate{Limit: 10_000, Per: time.Hour, By: policy.RateByUser}, ""},
	} {
		r := rule(policy.Block, "")
		r.Rate = &c.rate
		_, err := condition.NewRules([]policy.Rule{r})
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.want, name)
	}
}

// Only a limited number of things are counted apart. Beyond them the one that was quiet the longest is forgotten, and no other.
func TestRateForgetsWhatWasQuietTheLongest(t *testing.T) {
	t.Parallel()
	const keys = 10_000
	r := rule(policy.Block, "")
	r.Rate = &policy.Rate{Limit: 1, Per: 365 * 24 * time.Hour, By: policy.RateByUser}
	set, err := condition.NewRules([]policy.Rule{r})
	require.NoError(t, err)
	over := func(user int, at time.Duration, effects bool) bool {
		in := toolCall()
		in.Session.User, in.ID, in.Now = strconv.Itoa(user), strconv.Itoa(user)+"/"+at.String(), in.Now.Add(at)
		d := policy.Decision{Action: policy.Allow}
		set.Decide(&in, &d, effects)
		return d.Action == policy.Block
	}
	const quiet = keys / 2
	for user := range keys {
		at := time.Hour + time.Duration(user)*time.Second
		if user == quiet {
			at = time.Minute
		}
		require.False(t, over(user, at, true))
	}
	require.True(t, over(quiet, 24*time.Hour, false), "there is room for so many")
	require.True(t, over(3, 24*time.Hour, true), "one that is known needs no room")
	require.True(t, over(quiet, 24*time.Hour, false))
	require.False(t, over(keys, 24*time.Hour, true), "one more")
	require.False(t, over(quiet, 24*time.Hour, false), "the one that was quiet the longest is forgotten")
	for _, user := range []int{0, 1, quiet - 1, quiet + 1, keys - 1, keys} {
		require.True(t, over(user, 25*time.Hour, false), "%d is not", user)
	}
}

// Only what a rule's condition holds for counts for its rate.
func TestRateCountsWhatTheConditionHoldsFor(t *testing.T) {
	t.Parallel()
	r := rule(policy.Block, `tool.name == "mcp_crm_find"`)
	r.Rate = &policy.Rate{Limit: 1, Per: time.Hour}
	set, err := condition.NewRules([]policy.Rule{r})
	require.NoError(t, err)
	ask := func(tool, id string) policy.Action {
		in := toolCall()
		in.Tool.Name, in.ID = tool, id
		d := policy.Decision{Action: policy.Allow}
		set.Decide(&in, &d, true)
		return d.Action
	}
	for _, id := range []string{"1", "2", "3"} {
		require.Equal(t, policy.Allow, ask("another", id))
	}
	require.Equal(t, policy.Allow, ask("mcp_crm_find", "4"))
	require.Equal(t, policy.Block, ask("mcp_crm_find", "5"))
}

// What sessions do at a level counts there and above, and nothing of it below: what is left of a rate tells nobody how much is done above them.
func TestRatesAreKeptForEachLevel(t *testing.T) {
	t.Parallel()
	for _, by := range append(policy.RateBys(), policy.RateByAll) {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r := rule(policy.Block, "")
			r.Rate = &policy.Rate{Limit: 3, Per: time.Hour, By: by}
			set, err := condition.NewRules([]policy.Rule{r})
			require.NoError(t, err)
			n := 0
			over := func(level flow.Level) bool {
				n++
				in := toolCall()
				in.Session.Level, in.ID = level.Rank(), strconv.Itoa(n)
				d := policy.Decision{Action: policy.Allow}
				set.Decide(&in, &d, true)
				return d.Action == policy.Block
			}
			for range 5 {
				over(flow.Confidential)
			}
			require.True(t, over(flow.Confidential))
			for _, level := range []flow.Level{flow.Public, flow.Public, flow.Internal} {
				require.False(t, over(level), "what is done above does not count")
			}
			require.True(t, over(flow.Internal), "what is done below does")
			require.False(t, over(flow.Public))
			require.True(t, over(flow.Public))
			require.True(t, over(flow.Restricted))
		})
	}
}
