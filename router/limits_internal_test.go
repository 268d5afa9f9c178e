package router

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
)

// Only the newest branches are listed, each with its number.
func TestListOfBranches(t *testing.T) {
	t.Parallel()
	list := func(n int) string {
		var all []branch
		for i := range n {
			said := flow.NewText(fmt.Sprint("q", i+1), flow.Bottom())
			all = append(all, branch{question: said, answer: flow.NewText("", flow.Bottom()), selected: i == n-1})
		}
		return listBranches(policy.NewQuotation(flow.Public), all)
	}
	require.Contains(t, list(0), "no other branch")
	require.Contains(t, list(1), "no other branch")
	two := list(2)
	require.Contains(t, two, "\n1. “q1” → “no answer”\n2. “q2” → “no answer” (we are here)")
	require.NotContains(t, two, "“q1” → “no answer” (we")
	require.Equal(t, branchesMost, strings.Count(list(branchesMost), "→"))
	most := list(branchesMost + 1)
	require.Equal(t, branchesMost, strings.Count(most, "→"))
	require.NotContains(t, most, "\n1. ")
	require.Contains(t, most, "\n2. “q2”")
}

func TestNumberUpTo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"1": true, "7": true, "0": false, "8": false, "-1": false, "x": false, "": false} {
		_, ok := numberUpTo(7, text)
		require.Equal(t, want, ok, text)
	}
}
