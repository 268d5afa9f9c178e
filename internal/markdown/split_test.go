package markdown_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/markdown"
)

func TestSplitKeepsShortTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "hello", "**a**\n\n- b", strings.Repeat("😀", 2048)} {
		require.Equal(t, []string{text}, markdown.Split(text, 4096))
	}
}

func TestSplitClosesAndOpensFences(t *testing.T) {
	t.Parallel()
	pieces := markdown.Split("```go\n"+strings.Repeat("x := 1\n", 20)+"```", 50)
	require.Greater(t, len(pieces), 2)
	for _, p := range pieces {
		require.True(t, strings.HasPrefix(p, "```go\nx := 1\n"), p)
		require.True(t, strings.HasSuffix(p, "\n```"), p)
	}
}

func TestSplitKeepsLinksWhole(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("word ", 8) + "[a link of several words](https://example.org) " + strings.Repeat("word ", 8)
	for limit := 25; limit < 60; limit++ {
		found := 0
		for _, p := range markdown.Split(text, limit) {
			found += strings.Count(markdown.TelegramHTML(p), ">a link of several words</a>")
		}
		require.Equal(t, 1, found, "limit %d", limit)
	}
}

func TestSplitPrefersParagraphs(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a sentence here. ", 3) + "\n\n" + strings.Repeat("another one. ", 3)
	pieces := markdown.Split(text, 60)
	require.Len(t, pieces, 2)
	require.True(t, strings.HasPrefix(pieces[1], "another"))
}

// What is said to fit without a look at its tree does fit.
func TestWhatSurelyFits(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"- ", "+ ", "* ", "1. ", "23) ", "> ", "- > ", "> - ", "#\n", "-\n", "1.\n", "- a\n  - b\n    - c\n", "***\n", "    a\n", "a\n\n", "\r", "-\t", "`a` ", "**a** _b_ "} {
		for n := range 100 {
			for _, text := range []string{strings.Repeat(unit, n) + "x", nested(n%20, unit)} {
				for limit := 20; limit < 2*len(text)+40; limit += 1 + limit/3 {
					if markdown.SurelyFits(text, limit) {
						require.True(t, markdown.Fits(text, limit), "%q at %d", text, limit)
					}
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, limit := document().Draw(t, "text"), rapid.IntRange(20, 1000).Draw(t, "limit")
		if markdown.SurelyFits(text, limit) {
			require.True(t, markdown.Fits(text, limit), "%q", text)
		}
	})
	require.True(t, markdown.SurelyFits(strings.Repeat("A sentence of **an answer** that has some words.\n", 20), 4096), "an ordinary answer is not parsed to be cut")
	require.False(t, markdown.SurelyFits(strings.Repeat("a\n", 1000), 4096))
}

// nested are items inside items, each with a line.
func nested(depth int, unit string) string {
	var out strings.Builder
	for i := range depth {
		out.WriteString(strings.Repeat(" ", 2*i) + unit + "x\n")
	}
	return out.String()
}

func TestSplitLongAnswer(t *testing.T) {
	t.Parallel()
	unit := "# Part\n\nSome *text* with [link](https://example.org) and `code`.\n\n- a\n- b\n\n```go\nfunc f() {}\n```\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
	checkPieces(t, strings.Repeat(unit, 100_000/len(unit)), 4096)
}

func TestSplitProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkPieces(t, document().Draw(t, "text"), rapid.IntRange(20, 300).Draw(t, "limit"))
	})
}

func TestSourceRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := document().Draw(t, "text")
		first, second, written := markdown.RoundTrip(text)
		require.Equal(t, first, second, "%q written as %q", text, written)
	})
}

// document draws texts full of markup, well and badly formed.
func document() *rapid.Generator[string] {
	pieces := []string{
		"word", "two words", "Sentence one. ", "**bold**", "*it*", "***", "~~gone~~", "`code`", "``a`b``", "`", "[link](https://example.org/a_b?c=1&d=2)",
		"![img](https://example.org/i.png)", "[ref]", "[ref]: https://example.org", "\n", "\n\n", "\n- ", "\n  - ", "\n1. ", "\n23) ", "\n# ", "\n> ", "\n> > ", "\n```go\n", "\n```\n",
		"\n~~~\n", "\n    ", "\n---\n", "\n===\n", "\n| a | b |\n|---|:-:|\n| 1 | 2 |\n", "<b>", "</b>", "<i>x</i>", "<br>", "<div>", "<!-- c -->", "&amp;", "&#35;", "&", "<", ">", "\\", "\\*", "!", "#", "_", "_a_", "*", "**", "~~",
		"😀", "👩‍👩‍👧", "🇩🇪", "é", "\u00a0", "\u200b", "\t", " ", "  \n", "\xff", "\r\n", "- [x] ", "+", "-", "=", ":", "|", ".", ")", "12", "http://localhost:80",
		"looooooooooooooooooooooooooooooooooooooooong",
	}
	one := rapid.OneOf(rapid.SampledFrom(pieces), rapid.SampledFrom(pieces), rapid.SampledFrom(pieces), rapid.StringN(0, 6, 20))
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(one, 0, 60).Draw(t, "pieces"), "") })
}

// checkPieces holds what every split promises.
func checkPieces(t require.TestingT, text string, limit int) {
	pieces := markdown.Split(text, limit)
	require.Equal(t, pieces, markdown.Split(text, limit), "the same text gives the same pieces")
	var joined strings.Builder
	for _, p := range pieces {
		html := markdown.TelegramHTML(p)
		plain := checkHTML(t, html)
		require.Equal(t, markdown.Plain(p), plain)
		if len(pieces) > 1 {
			require.LessOrEqual(t, markdown.Units(plain), limit, "%q", p)
			require.NotEmpty(t, strings.TrimSpace(plain), "%q of %q", p, text)
		}
		joined.WriteString(plain)
	}
	if len(pieces) > 1 {
		want := markdown.Plain(text)
		if want == "" {
			want = text // a link definition is said as it is
		}
		require.Equal(t, visible(want), visible(joined.String()))
	}
}

// visible leaves out white space, which cuts may take away, and control characters, which are never sent.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}

var htmlTag = regexp.MustCompile(`<(/?)([a-z]+)( href="[^"<>]*"| class="language-[A-Za-z0-9+#._-]+")?>`)

// checkHTML holds a text against Telegram's rules and gives it without markup.
func checkHTML(t require.TestingT, html string) string {
	var open []string
	for _, tag := range htmlTag.FindAllStringSubmatch(html, -1) {
		if tag[1] == "" {
			require.Contains(t, []string{"b", "i", "u", "s", "code", "pre", "a", "blockquote"}, tag[2])
			require.NotContains(t, open, tag[2], "nested in itself: %q", html)
			open = append(open, tag[2])
			continue
		}
		require.NotEmpty(t, open, "%q", html)
		require.Equal(t, open[len(open)-1], tag[2], "%q", html)
		open = open[:len(open)-1]
	}
	require.Empty(t, open, "%q", html)
	plain := htmlTag.ReplaceAllString(html, "")
	require.NotContains(t, plain, "<", "%q", html)
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&").Replace(plain)
}

func FuzzSplit(f *testing.F) {
	f.Add("**a** [b](https://example.org)\n```go\nx\n```\n> q\n- l", 20)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 20 || limit > 1000 {
			t.Skip()
		}
		checkPieces(t, text, limit)
		first, second, written := markdown.RoundTrip(text)
		require.Equal(t, first, second, "%q written as %q", text, written)
	})
}

func BenchmarkTelegramHTML(b *testing.B) {
	for name, text := range map[string]string{
		"plain": "You said: hello there, how are you today?",
		"rich":  "**You** said: `hello` there, see [this](https://example.org)\n\n- a\n- b\n",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_ = markdown.TelegramHTML(text)
			}
		})
	}
}
