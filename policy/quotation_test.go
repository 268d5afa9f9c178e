package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
)

// What is above a place is not shown there, and an answer is as secret as what it shows.
func TestQuotation(t *testing.T) {
	t.Parallel()
	for _, place := range flow.Levels() {
		q, joined := policy.NewQuotation(place), flow.Bottom()
		require.Equal(t, joined, q.Label())
		for _, level := range flow.Levels() {
			for _, trust := range []flow.Trust{flow.Trusted, flow.Untrusted} {
				label := flow.NewLabel(level, trust)
				text, shown := q.Show(flow.NewText("a word", label))
				require.Equal(t, flow.CanFlow(level, place), shown)
				if shown {
					joined = joined.Join(label)
				}
				require.Equal(t, shown, text == "a word")
				require.Equal(t, joined, q.Label())
				_, emptied := q.Show(flow.NewText("", label))
				require.Equal(t, shown, emptied, "an empty one is as secret")
			}
		}
	}
	require.Equal(t, "something", policy.NewQuotation(flow.Public).Or(flow.NewText("x", flow.Top()), "something"))
	_, shown := policy.NewQuotation(flow.Level{}).Show(flow.Text{})
	require.False(t, shown, "an invalid place is shown nothing")
}
