package footprint

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCollectionsAreRareWhereLittleIsInUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		used    uint64
		percent int
	}{
		{"nothing known", 0, gcPercentMax},
		{"an empty gateway", 4 << 20, gcPercentMax},
		{"a few people", 20 << 20, 240},
		{"as much as may be allocated", gcSpare, 100},
		{"half as much as is in use", gcFull, 50},
		{"thousands of waiting sessions", 200 << 20, 30},
		{"ten thousand waiting sessions", 400 << 20, gcPercentMin},
		{"more than that", 4 << 30, gcPercentMin},
	} {
		require.Equal(t, c.percent, percentFor(c.used), c.name)
	}
	require.Positive(t, inUse(), "the runtime names the figures differently now")
}
