package view

import (
	"strconv"
	"strings"
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
		return Find(all, " plan ", func(l line) (id string, texts []string) { return l.id, []string{l.text} }, func(some []line) error {
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

// Only the newest texts of a very long conversation are searched, and the answer says so.
func TestFindReadsABoundedAmountOfText(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", findBytes/4)
	all := make([]string, 8)
	for i := range all {
		all[i] = large
	}
	all[0], all[7] = large+"plan", large+"plan"
	got, err := Find(all, "plan", func(text string) (id string, texts []string) { return strconv.Itoa(len(text)), []string{text, ""} }, func([]string) error { return nil })
	require.NoError(t, err)
	require.True(t, got.More)
	require.Len(t, got.Found, 1)
	got, err = Find(all[5:], "plan", func(string) (id string, texts []string) { return "it", []string{"", "Plan"} }, func([]string) error { return nil })
	require.NoError(t, err)
	require.Equal(t, Found{Found: []string{"it", "it", "it"}}, got)
}
