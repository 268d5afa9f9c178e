package markdown_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sluice/internal/markdown"
)

var (
	slackEntity   = regexp.MustCompile(`&(amp|lt|gt);`)
	slackEntities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
	slackAnchor   = regexp.MustCompile(`^https?://[^|<>\s]+(\|[^<>\n]+)?$`)
)

// showSlack shows mrkdwn by Slack's rules. Whatever could be a style counts as
// one, but one that is not beside white space, punctuation or another mark fails.
func showSlack(t require.TestingT, message string) []shown {
	require.Len(t, slackEntity.FindAllStringIndex(message, -1), strings.Count(message, "&"), "%q", message)
	var all []shown
	fenced := false
	for _, line := range strings.Split(message, "\n") {
		switch {
		case line == "```":
			fenced = !fenced
		case fenced:
			require.NotContains(t, line, "```", "%q", message)
			require.NotRegexp(t, `[<>]`, line, "%q", message)
			all = append(all, slackText(line, shown{styles: "p"})...)
		default:
			line = strings.TrimPrefix(line, "> ")
			require.False(t, strings.HasPrefix(line, "&gt;"), "an accidental quote: %q", message)
			p := slackLine{t: t, message: message}
			p.tokens(line)
			all = append(all, p.show(0, len(p.runes), "")...)
		}
	}
	require.False(t, fenced, "an open fence: %q", message)
	return all
}

// slackText resolves escapes.
func slackText(s string, like shown) []shown {
	var all []shown
	for _, r := range slackEntities.Replace(s) {
		like.char = r
		all = append(all, like)
	}
	return all
}

// slackLine is a line of single characters and of whole links and codes.
type slackLine struct {
	t       require.TestingT
	message string
	runes   []rune    // zero for a whole
	wholes  [][]shown // for each rune, what it shows
}

func (p *slackLine) tokens(line string) {
	for line != "" {
		r, size := utf8.DecodeRuneInString(line)
		switch {
		case r == '<':
			end := strings.IndexByte(line, '>')
			require.Positive(p.t, end, "%q", p.message)
			p.link(line[1:end])
			size = end + 1
		case r == '`':
			end := strings.IndexByte(line[1:], '`')
			require.Positive(p.t, end, "an open code: %q", p.message)
			require.NotRegexp(p.t, `[<>]`, line[1:end+1], "%q", p.message)
			p.add(0, slackText(line[1:end+1], shown{styles: "c"}))
			size = end + 2
		case r == '&':
			size = strings.IndexByte(line, ';') + 1
			p.add('&', slackText(line[:size], shown{}))
		default:
			require.NotEqual(p.t, '>', r, "%q", p.message)
			p.add(r, []shown{{char: r}})
		}
		line = line[size:]
	}
}

func (p *slackLine) add(r rune, s []shown) {
	p.runes, p.wholes = append(p.runes, r), append(p.wholes, s)
}

func (p *slackLine) link(inner string) {
	require.Regexp(p.t, slackAnchor, inner, "%q", p.message)
	address, label, labelled := strings.Cut(inner, "|")
	plain := letters(slackText(address, shown{}))
	if !labelled {
		p.add(0, slackText(address, shown{link: plain}))
		return
	}
	label = strings.ReplaceAll(label, "\u200b", "")
	p.add(0, slackText(label, shown{link: plain}))
}

var slackLetters = map[rune]string{'*': "b", '_': "i", '~': "s"}

// show shows the characters from one place to another.
func (p *slackLine) show(from, to int, styles string) []shown {
	var all []shown
	for i := from; i < to; i++ {
		letter := slackLetters[p.runes[i]]
		end := -1
		if letter != "" && p.opens(i, from) {
			end = p.closer(i, to)
		}
		if end < 0 {
			for _, s := range p.wholes[i] {
				s.styles = styleSet(styles, s.styles)
				all = append(all, s)
			}
			continue
		}
		require.True(p.t, i == from || p.gap(i-1, "([{\"'"), "a mark that Slack may not take for one at %d: %q", i, p.message)
		require.True(p.t, end+1 == to || p.gap(end+1, ".,;:!?)]}\"'"), "a mark that Slack may not take for one at %d: %q", end, p.message)
		all = append(all, p.show(i+1, end, styles+letter)...)
		i = end
	}
	return all
}

func (p *slackLine) opens(i, from int) bool {
	return i+1 < len(p.runes) && !p.gap(i+1, "") && (i == from || !p.word(i-1))
}

func (p *slackLine) closer(open, to int) int {
	for i := open + 2; i < to; i++ {
		if p.runes[i] == p.runes[open] && !p.gap(i-1, "") && (i+1 == to || !p.word(i+1)) {
			return i
		}
	}
	return -1
}

func (p *slackLine) gap(i int, others string) bool {
	r := p.runes[i]
	return unicode.IsSpace(r) || r == '\u200b' || r != 0 && strings.ContainsRune(others, r)
}

func (p *slackLine) word(i int) bool {
	return unicode.IsLetter(p.runes[i]) || unicode.IsDigit(p.runes[i])
}

// slackSame: Slack has no code with a backtick in it, and addresses have no style.
func slackSame(want, got shown) bool {
	char := got.char
	if char == 'ˋ' {
		char = '`'
	}
	if want.char == 'ˋ' {
		want.char = '`'
	}
	switch {
	case want.char != char:
		return false
	case want.styles == got.styles:
		return true
	}
	return got.styles == "" && (want.styles == "c" || got.link != "" || strings.ContainsRune("*_~", char))
}

var slackChat = chat{split: markdown.SplitSlackAt, render: markdown.SlackMrkdwn, units: markdown.Units, show: showSlack, same: slackSame}

func TestSlackProperties(t *testing.T) {
	t.Parallel()
	slackChat.properties(t)
}

func TestSlackLongTexts(t *testing.T) {
	t.Parallel()
	slackChat.long(t, 4000)
}

func TestSlackKeepsLinksWhole(t *testing.T) {
	t.Parallel()
	slackChat.wholeLinks(t, 4000)
}

func FuzzSlackMrkdwn(f *testing.F) {
	f.Add("**a** [b](https://example.org)\n```go\nx\n```\n> q\n- l <!channel>")
	f.Fuzz(func(t *testing.T, text string) {
		sameText(t, showHTML(text), withoutGaps(showSlack(t, markdown.SlackMrkdwn(text))), text, slackSame)
	})
}

func FuzzSplitSlack(f *testing.F) {
	f.Add("**a** [b](https://example.org)\n```go\nx\n```\n> q\n- l <!channel>", 800)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 1200 || limit > 4000 {
			t.Skip()
		}
		slackChat.check(t, text, limit)
	})
}
