package budget

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What happens in one batch alone is not part of a message; what happens in each is, even if not with each message.
func TestStatementsOfASweepDoNotCount(t *testing.T) {
	t.Parallel()
	counted := []map[string]int{{"hello": 7}}
	for n := 1; n <= 5; n++ {
		now := map[string]int{"hello": 7 + 6*n, "each third": 2 * n}
		if n >= 3 {
			now["sweep"] = 32
		}
		counted = append(counted, now)
	}
	require.Equal(t, map[string]float64{"hello": 1, "each third": 1. / 3, "sweep": 0}, ofStatements(counted, 6))
}
