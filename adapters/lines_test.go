package adapters_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
)

func TestLinesAreJoinedAndBounded(t *testing.T) {
	t.Parallel()
	for want, texts := range map[string][]string{
		"":                                 nil,
		"a\nb c":                           {" a\n", "", " \n", "b c"},
		"123456789":                        {"123456789"}, // its line's end fits as well
		"123456\n123\n" + adapters.LeftOut: {"123456", "12345", "and", "more"},
		"123456789\n" + adapters.LeftOut:   {"123456789üü"}, // no half of a character
	} {
		require.Equal(t, want, adapters.JoinLines(10, texts...), "%q", texts)
	}
	l := adapters.NewLines(10)
	l.Write("a")
	l.Write("b")
	l.Line("c\n\n")
	l.Line("\n")
	l.Write("d")
	require.Equal(t, "abc\nd", l.String())
}
