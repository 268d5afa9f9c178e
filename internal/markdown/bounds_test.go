//go:build !race

// The race detector makes the work on these texts ten times as long, and the other tests show it all that texts share.
// `make test` runs these tests without it.

package markdown_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/markdown"
	"sluice/internal/markdown/markdowntest"
)

// The time for a text that is four times as long must not be sixteen times as long. What is compared is the processor
// time of this thread, the least of some tries, so that a busy machine changes little. A text that is not much longer
// than a section may be hostile in its second half alone: then longer ones must show it.
func TestTimeGrowsWithTheLength(t *testing.T) {
	t.Parallel()
	for _, h := range markdowntest.Texts() {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			var seen []string
			for length := 20 << 10; length <= 80<<10; length *= 4 {
				short, long := h.Of(length), h.Of(4*length)
				if isLinear(short, long) {
					return
				}
				seen = append(seen, fmt.Sprintf("%d bytes: %s, %d bytes: %s", len(short), processorTime(func() { work(short) }), len(long), processorTime(func() { work(long) })))
			}
			require.Fail(t, "not linear", "%s", seen)
		})
	}
}

func isLinear(short, long string) bool {
	const (
		tries   = 3
		most    = 9.0 // 4 is linear, 16 quadratic
		nothing = 40 * time.Millisecond
	)
	least := [2]time.Duration{time.Hour, time.Hour}
	for range tries {
		least[0] = min(least[0], processorTime(func() { work(short) }))
		least[1] = min(least[1], processorTime(func() { work(long) }))
		if least[1] < nothing || float64(least[1])/float64(least[0]) < most {
			return true
		}
	}
	return false
}

// work is all that is done with an answer.
func work(text string) {
	for _, piece := range markdown.Split(text, 4096) {
		markdown.TelegramHTML(piece)
	}
	markdown.Structured(text)
}

// Nothing of a hostile text is lost, and little is added.
func TestHostileTextsAreShown(t *testing.T) {
	t.Parallel()
	for _, h := range markdowntest.Texts() {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			text := h.Of(20_000)
			shown := markdown.Plain(text)
			require.Contains(t, shown, markdowntest.Mark)
			for _, pieces := range [][]string{markdown.Split(text, 4096), markdown.SplitSlack(text), markdown.SplitDiscord(text)} {
				require.Contains(t, pieces[len(pieces)-1], markdowntest.Mark)
				require.Less(t, len(strings.Join(pieces, "")), 20*len(text), "%d pieces", len(pieces))
			}
		})
	}
}

// Each section is small, whatever the text is, and together they are the text. A fence alone may be longer, as its content is not parsed.
func TestSectionsAreBounded(t *testing.T) {
	t.Parallel()
	for _, h := range markdowntest.Texts() {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			checkSections(t, h.Of(150_000))
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		checkSections(t, strings.Repeat(document().Draw(t, "text"), rapid.IntRange(1, 300).Draw(t, "times")))
	})
}

func checkSections(t require.TestingT, text string) {
	sections := markdown.Sections(text)
	shown := 0
	for _, s := range sections {
		if !s.Fence {
			require.LessOrEqual(t, len(s.Text), markdown.SectionMax)
			require.LessOrEqual(t, markdown.Depth(s.Text), markdown.NestingMax)
		}
		at := strings.Index(text[shown:], s.Text)
		require.GreaterOrEqual(t, at, 0)
		requireFence(t, text[shown:shown+at])
		shown += at + len(s.Text)
	}
	requireFence(t, text[shown:])
}

// requireFence: nothing but the first or last line of a fence is left out.
func requireFence(t require.TestingT, left string) {
	left = strings.TrimLeft(left, " ")
	require.True(t, left == "" || strings.HasPrefix(left, "```") || strings.HasPrefix(left, "~~~"), "%q", left)
}

// Where a long answer is cut nothing is to be seen of it.
func TestLongAnswersHaveNoSeams(t *testing.T) {
	t.Parallel()
	const unit = "# Part\n\nSome *text* with [link](https://example.org), [another][other] and `code`,\nin two lines.\n\n- a\n\n  more of a\n- b\n  - c\n\n" +
		"```go\nfunc f() {}\n\n# no heading\n```\n\n> quoted\n> text\n\n| a | b |\n|---|---|\n| 1 | 2 |"
	const definition = "\n\n[other]: https://example.com"
	one := markdown.TelegramHTML(unit + definition)
	text, want := unit, one
	for len(text) < 100_000 {
		text, want = text+"\n\n"+unit, want+"\n\n"+one
	}
	require.Greater(t, len(markdown.Sections(text)), 6)
	require.Equal(t, want, markdown.TelegramHTML(text+definition))
}

func TestTextsLongerThanASection(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word ", 8000)
	digits := strings.Repeat("0123456789", 4000)
	code := strings.Repeat("x := 1 // *a*\n", 3000)
	for name, c := range map[string]struct{ in, want string }{
		"one line":         {"a **b** " + words + "**c**.", "a <b>b</b> " + words + "<b>c</b>."},
		"one word":         {"*a* " + digits + " *b*", "<i>a</i> " + digits + " <i>b</i>"},
		"lines":            {"*a*\n" + strings.Repeat("line\n", 5000) + "*b*", "<i>a</i>\n" + strings.Repeat("line\n", 5000) + "<i>b</i>"},
		"a fence":          {"*a*\n```go\n" + code + "```\n*b*", "<i>a</i>\n\n<pre><code class=\"language-go\">" + strings.TrimSpace(code) + "</code></pre>\n\n<i>b</i>"},
		"a fence, open":    {"*a*\n\n~~~\n" + code, "<i>a</i>\n\n<pre>" + strings.TrimSpace(code) + "</pre>"},
		"sixteen quotes":   {strings.Repeat(">", 16) + "a", "<blockquote>a</blockquote>"},
		"seventeen quotes": {strings.Repeat(">", 17) + "a", "<blockquote>&gt;a</blockquote>"},
		"seventeen lists":  {strings.Repeat("- ", 17) + "a", strings.Repeat("\u00a0", 24) + "• - a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := markdown.TelegramHTML(c.in)
			if name == "seventeen lists" {
				got = got[strings.LastIndex(got, "\n")+1:]
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestLongSplitProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkPieces(t, strings.Repeat(document().Draw(t, "text"), rapid.IntRange(1, 100).Draw(t, "times")), 4096)
	})
}
