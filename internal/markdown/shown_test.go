package markdown_test

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/markdown"
)

// shown is one visible character of a message, as a platform would show it.
type shown struct {
	char   rune
	styles string // letters of b, i, s, c for code and p for a block of code, in this order
	link   string // where it leads; empty for nowhere
	added  int    // number of the address in brackets that it belongs to; 0 for none
}

// surface shows messages by a platform's own rules, and fails for what breaks them.
type surface func(t require.TestingT, message string) []shown

// withoutGaps leaves out what has no width, and white space, which cuts take away.
func withoutGaps(all []shown) []shown {
	var kept []shown
	for _, s := range all {
		if !unicode.IsSpace(s.char) && s.char != '\u200b' {
			kept = append(kept, s)
		}
	}
	return kept
}

func styleSet(styles ...string) string {
	all := strings.Join(styles, "")
	if len(all) <= 1 {
		return all
	}
	var out strings.Builder
	for _, letter := range "biscp" {
		if strings.ContainsRune(all, letter) {
			out.WriteRune(letter)
		}
	}
	return out.String()
}

var htmlPart = regexp.MustCompile(`(?s)<(/?)([a-z]+)(?: href="([^"]*)")?[^<>]*>|[^<]+`)

// showHTML is the surface that the others are held against.
func showHTML(text string) []shown {
	letters := map[string]string{"b": "b", "i": "i", "s": "s", "code": "c", "pre": "p", "u": "", "a": "", "blockquote": ""}
	var all []shown
	var open []string
	link := ""
	for _, part := range htmlPart.FindAllStringSubmatch(markdown.TelegramHTML(text), -1) {
		switch {
		case part[2] == "":
			for _, r := range html.UnescapeString(part[0]) {
				all = append(all, shown{char: r, styles: styleSet(open...), link: link})
			}
		case part[1] == "/":
			open = open[:len(open)-1]
			if part[2] == "a" {
				link = ""
			}
		default:
			if part[2] == "code" && strings.Contains(strings.Join(open, ""), "p") {
				part[2] = "u"
			}
			open = append(open, letters[part[2]])
			if part[2] == "a" {
				link = html.UnescapeString(part[3])
			}
		}
	}
	return withoutGaps(all)
}

// sameText walks through both, and lets the addresses be that got pass as additions.
func sameText(t require.TestingT, want, got []shown, text string, same func(want, got shown) bool) {
	j := 0
	for i := 0; i < len(got); i++ {
		if group := groupAt(got, i); group > 0 && !startsWith(want[j:], got[i:i+group]) {
			i += group - 1
			continue
		}
		if j >= len(want) {
			require.Fail(t, "text came from nowhere", "%.2000q: %.200q", text, letters(got[i:]))
		}
		if !same(want[j], got[i]) {
			require.Fail(t, "shown differently", "want %+q, got %+q, from %q of %.2000q", want[j], got[i], letters(got[max(0, i-20):min(len(got), i+20)]), text)
		}
		j++
	}
	require.Equal(t, len(want), j, "%.2000q lost %.2000q", text, letters(want[j:]))
}

// groupAt is the length of the addition that begins at a place; 0 for none.
func groupAt(all []shown, at int) int {
	n := 0
	for all[at].added > 0 && at+n < len(all) && all[at+n].added == all[at].added {
		n++
	}
	if at > 0 && all[at-1].added == all[at].added {
		return 0
	}
	return n
}

func startsWith(all, start []shown) bool {
	return len(all) >= len(start) && letters(all[:len(start)]) == letters(start)
}

func letters(all []shown) string {
	var out strings.Builder
	for _, s := range all {
		out.WriteRune(s.char)
	}
	return out.String()
}

// hostile draws what models and people write at their worst.
func hostile() *rapid.Generator[string] {
	parts := []string{
		"[a [b] c](https://example.org/x_(y))", "[a\\]](https://example.org)", "[https://bank.example](https://evil.example)", "[**see https://bank.example now**](https://evil.example)", "<https://example.org/a_b*c>", "https://example.org/a_b_(c)?d=*e*&f|g",
		"(see https://example.org/x_y_z).", "[**bold** `code` link](https://example.org/a*b)", "[" + strings.Repeat("long label ", 30) + "](https://example.org)", "https://example.org/" + strings.Repeat("a_b/", 60),
		"```", "\n```js\nlet a = `x` ** \"```\"\n", "\n~~~\n```\n~~~\n", "`` `x` ``", "`<!channel>`", "<!channel>", "<@U123ABC>", "<#C1|x>", "<!subteam^S1|@x>", "@everyone", "<@123>", "<:e:1>", "<t:1:R>", "||spoiler||",
		"*a*b*", "**a**b**c**", "_a_b_", "~a~", "~~a~~b", "***a** b*", "**a *b* c**", "2 * 3 * 4", "snake_case_name", "__init__", "*", "_", "~", "`", "\\*", "\\_x\\_", "\\`",
		"\n\\# no heading", "\n\\> no quote", "\n\\- no item", "\n-# small", "\n>>> all", "\n> **bold\n> over lines**", "\n> https://example.org/a_b", "\n- a\n  - b\n    - c\n      1. d\n", "\n> - in quote\n>   more\n",
		"👩‍👩‍👧‍👦", "👍🏽", "🇩🇪🇫🇷", "שלום *עולם*", "\u202eabc\u202c", "مرحبا", "e\u0301*x*", strings.Repeat("w", 300), strings.Repeat("𝒳", 90), strings.Repeat("&", 70), strings.Repeat("*_", 40), "\u200b", "&lt;!here&gt;", "&#42;a&#42;",
	}
	one := rapid.OneOf(rapid.SampledFrom(parts), rapid.SampledFrom(parts), rapid.SampledFrom([]string{" ", "\n", "\n\n", "word", ". "}), rapid.StringN(0, 4, 12))
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(0, 60).Draw(t, "parts")
		return document().Draw(t, "usual") + strings.Join(rapid.SliceOfN(one, n, n).Draw(t, "hostile"), "")
	})
}

// chat is a platform under test.
type chat struct {
	split  func(text string, limit int) []string
	render func(text string) string
	units  func(message string) int
	show   surface
	same   func(want, got shown) bool
}

// check holds what a renderer and its splitter promise of any text.
func (c chat) check(t require.TestingT, text string, limit int) {
	sameText(t, showHTML(text), withoutGaps(c.show(t, c.render(text))), text, c.same)
	pieces := c.split(text, limit)
	require.True(t, slices.Equal(pieces, c.split(text, limit)), "the same text gives the same pieces")
	if len(pieces) == 1 {
		require.Equal(t, text, pieces[0])
		return
	}
	var all, each []shown
	for _, p := range pieces {
		message := c.render(p)
		require.LessOrEqual(t, c.units(message), limit, "%q of %q", message, text)
		require.NotEmpty(t, strings.TrimSpace(message), "%q of %q", p, text)
		all = append(all, withoutGaps(c.show(t, message))...)
		each = append(each, showHTML(p)...)
	}
	want := showHTML(text)
	if len(want) == 0 {
		return // a link definition, say: it is sent as it is written
	}
	sameText(t, want, each, text, func(want, got shown) bool { return want.char == got.char && want.styles == got.styles })
	sameText(t, want, renumbered(all), text, c.same)
}

// renumbered keeps the additions of neighbouring pieces apart.
func renumbered(all []shown) []shown {
	n, last := 0, 0
	for i, s := range all {
		if s.added > 0 {
			if s.added != last || i > 0 && all[i-1].added == 0 {
				n++
			}
			all[i].added = n
		}
		last = s.added
	}
	return all
}

func (c chat) properties(t *testing.T) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		c.check(t, hostile().Draw(t, "text"), rapid.IntRange(1200, 2000).Draw(t, "limit"))
	})
}

// long checks a text of 100 kB at the platform's own limit, and shorter ones of one
// thing each, which are most of what takes long here. Under the race detector a few of those are enough: it is many
// times as slow, and all of them are checked without it.
func (c chat) long(t *testing.T, limit int) {
	t.Helper()
	document := "# Part\n\nSome *text* with [link](https://example.org) and `code`.\n\n- a\n- b\n\n```go\nfunc f() {}\n```\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
	length := 100_000
	units := []string{
		"w", "& ", "👩‍👩‍👧‍👦", "שלום ", "\n> quote https://example.org/a_b_c. ", "x\n", "[some label](https://example.org/?a=1&b=2) ",
		"*a_b~ ", "**bold and *more* ", "`code` ", "<",
	}
	if underRace {
		length, units = 10_000, units[:3]
	}
	c.check(t, strings.Repeat(document, length/len(document)), limit)
	for _, unit := range units {
		c.check(t, strings.Repeat(unit, 10_000/len(unit)), limit)
		c.check(t, "```go\n"+strings.Repeat(unit, 10_000/len(unit)), limit)
	}
}

// wholeLinks checks that links are not cut, even where there is no good place to cut.
func (c chat) wholeLinks(t *testing.T, limit int) {
	t.Helper()
	address := "https://example.org/" + strings.Repeat("a", 300)
	label := strings.Repeat("label ", 50) + "end"
	for before := limit - 400; before < limit; before += 31 {
		text := strings.Repeat("w", before) + "(" + address + ")[" + label + "](https://example.org)" + strings.Repeat("w", limit)
		require.Len(t, c.linked(t, text, limit), 2, "%d characters before the links", before)
	}
	text := strings.Repeat("word ", limit/8) + "\n\n[" + strings.Repeat("label ", limit/11) + "end](https://example.org)" + strings.Repeat("w", limit)
	require.Len(t, c.linked(t, text, limit), 1, "a link that needs a piece of its own")
}

// linked are the links of all pieces, with their piece.
func (c chat) linked(t *testing.T, text string, limit int) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, p := range c.split(text, limit) {
		for _, s := range c.show(t, c.render(p)) {
			if s.link != "" {
				found[p+s.link] = true
			}
		}
	}
	return found
}
