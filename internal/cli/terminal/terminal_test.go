package terminal_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli/terminal"
)

var now = time.Date(2026, 4, 26, 18, 3, 16, 0, time.UTC)

// printed is what a screen shows.
func printed(t *testing.T, show func(s terminal.Screen) error) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, show(terminal.Screen{Out: &out, Now: func() time.Time { return now }}))
	return out.String()
}

func TestTable(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"a", "", "x\ny"}, {"longer", "\x1b[31mred", "z"}}
	require.Equal(t, "ID      TEXT           MORE\n"+
		"a       -              x y\n"+
		`longer  \u001b[31mred  z`+"\n",
		printed(t, func(s terminal.Screen) error { return s.Table([]string{"ID", "TEXT", "MORE"}, rows) }))
	require.Empty(t, rows[0][1], "the rows are the caller's")
	require.Equal(t, "ID\n", printed(t, func(s terminal.Screen) error {
		return terminal.Rows(s, []string{"ID"}, nil, func(string) []string { return nil })
	}))
	require.Equal(t, "N\n1\n22\n", printed(t, func(s terminal.Screen) error {
		return terminal.Rows(s, []string{"N"}, []string{"1", "22"}, func(n string) []string { return []string{n} })
	}))
}

func TestPairsLeaveOutWhatIsEmpty(t *testing.T) {
	t.Parallel()
	require.Equal(t, "id      1\nstatus  a b\n", printed(t, func(s terminal.Screen) error {
		return s.Pairs("id", "1", "error", "", "status", "a\nb", "odd")
	}))
}

func TestCounts(t *testing.T) {
	t.Parallel()
	require.Equal(t, "\nTotal: blocked 1, sent 7\n", printed(t, func(s terminal.Screen) error {
		return s.Counts("Total", map[string]int{"sent": 7, "blocked": 1})
	}))
	require.Empty(t, printed(t, func(s terminal.Screen) error { return s.Counts("Total", nil) }))
}

func TestMoreNamesTheNextPage(t *testing.T) {
	t.Parallel()
	require.Equal(t, "More results: repeat the command with --after sess_1\n", printed(t, func(s terminal.Screen) error { return s.More("sess_1") }))
	require.Empty(t, printed(t, func(s terminal.Screen) error { return s.More("") }))
}

func TestJSONKeepsItsMeaningAndHidesNothing(t *testing.T) {
	t.Parallel()
	text := printed(t, func(s terminal.Screen) error { return s.JSON([]byte("{\"a\":\"x\u202ey\",\"b\":[]}\n\n")) })
	require.Equal(t, []string{"{", `  "a": "x\u202ey",`, `  "b": []`, "}", ""}, strings.Split(text, "\n"))
	err := terminal.Screen{Out: &bytes.Buffer{}}.JSON([]byte("<html>"))
	require.ErrorContains(t, err, "read the gateway's response")
}

func TestAgo(t *testing.T) {
	t.Parallel()
	s := terminal.Screen{Now: func() time.Time { return now }}
	for want, before := range map[string]time.Duration{
		"0s ago": -time.Hour, "59s ago": 59 * time.Second, "1m ago": time.Minute, "59m ago": time.Hour - 1,
		"1h ago": time.Hour, "47h ago": 48*time.Hour - 1, "2d ago": 48 * time.Hour, "400d ago": 400 * 24 * time.Hour,
	} {
		require.Equal(t, want, s.Ago(now.Add(-before)))
	}
	require.Empty(t, s.Ago(time.Time{}))
}

func TestTextOfOthersCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	require.Equal(t, `a\u001b [31mb c\u202e\u200b`, terminal.Line("a\x1b [31mb\nc\u202e\u200b"))
	require.Equal(t, "a\n\tb"+`\u001b\u000d\u202e`, terminal.Text("a\n\tb\x1b\r\u202e"))
}

// An answer comes in fragments, and an emoji of several characters may be cut between them.
func TestFragmentKeepsCutEmoji(t *testing.T) {
	t.Parallel()
	require.Equal(t, "👩\u200d", terminal.Fragment("👩\u200d"))
	require.Equal(t, "\u200d💻"+`\u200b`, terminal.Fragment("\u200d💻\u200b"))
	require.Equal(t, `a\u001b`, terminal.Fragment("a\x1b"))
	require.Equal(t, "\u200d", terminal.Fragment("\u200d"))
}

func TestShort(t *testing.T) {
	t.Parallel()
	require.Equal(t, strings.Repeat("ä", 59)+"…", terminal.Short(strings.Repeat("ä", 61)))
	require.Equal(t, strings.Repeat("ä", 60), terminal.Short(strings.Repeat("ä", 60)))
	require.Equal(t, "a b", terminal.Short("a\nb"))
}

func TestPlural(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0 rules", terminal.Plural(0, "rule", "rules"))
	require.Equal(t, "1 rule", terminal.Plural(1, "rule", "rules"))
	require.Equal(t, "2 rules", terminal.Plural(2, "rule", "rules"))
}

func TestUsagef(t *testing.T) {
	t.Parallel()
	require.Equal(t, terminal.UsageError{Text: `--x "1": use 2`}, terminal.Usagef("--x %q: use %d", "1", 2))
}

// broken is an output that can't be written, for example a pipe whose reader has gone.
type broken struct{}

var errBroken = errors.New("broken pipe")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestABrokenOutputIsAnError(t *testing.T) {
	t.Parallel()
	s := terminal.Screen{Out: broken{}, Now: func() time.Time { return now }}
	for name, write := range map[string]func() error{
		"line":   func() error { return s.Printf("x") },
		"JSON":   func() error { return s.JSON([]byte("{}")) },
		"table":  func() error { return s.Table([]string{"A"}, [][]string{{"x"}}) },
		"pairs":  func() error { return s.Pairs("a", "b") },
		"counts": func() error { return s.Counts("Total", map[string]int{"a": 1}) },
		"more":   func() error { return s.More("x") },
	} {
		require.ErrorIs(t, write(), errBroken, name)
	}
}
