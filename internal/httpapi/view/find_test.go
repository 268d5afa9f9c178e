package view

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Words that everything has do not make the gateway filter a whole long conversation, and what is hidden is neither found nor counted.
func TestFindStopsWhenItHasEnough(t *testing.T) {
	t.Parallel()
	type line struct{ id, text string }
	all := make([]line, 10_000)
	for i := range all {
		all[i] = line{strconv.Itoa(i), "The Plan"}
	}
	filtered, hidden := 0, 0
	find := func() (Found, error) {
		filtered = 0
		return Find(all, " plan ", func(l line) (id, text string) { return l.id, l.text }, func(some []line) error {
			filtered += len(some)
			for i := range some {
				if n, _ := strconv.Atoi(some[i].id); n >= len(all)-hidden || hidden > 0 && n < len(all)-hidden-3 {
					some[i].text = ""
				}
			}
			return nil
		})
	}
	got, err := find()
	require.NoError(t, err)
	require.True(t, got.More)
	require.Len(t, got.Found, foundMax)
	require.Equal(t, []string{"9000", "9999"}, []string{got.Found[0], got.Found[foundMax-1]})
	require.LessOrEqual(t, filtered, foundMax+findStep)

	hidden = 1200
	got, err = find()
	require.NoError(t, err)
	require.Equal(t, Found{Found: []string{"8797", "8798", "8799"}}, got)
	require.Equal(t, "The Plan", all[9999].text, "the messages themselves stay as they are")
}
