package pattern_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/pattern"
)

func TestPatternsMatch(t *testing.T) {
	t.Parallel()
	p := pattern.New(`^(a+)b$`)
	require.True(t, p.MatchString("aab"))
	require.False(t, p.MatchString("b"))
	require.Equal(t, []string{"aab", "aa"}, p.Regexp().FindStringSubmatch("aab"))
	first := p.Regexp()
	require.Same(t, first, p.Regexp(), "compiled once")
}

func TestWrongPatternsAreFoundByEveryTest(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { pattern.New(`(`) })
}
