package markdown_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sluice/internal/markdown"
)

var (
	discordFence  = regexp.MustCompile("^```[A-Za-z0-9_+.#-]*$")
	discordAnchor = regexp.MustCompile(`^\[((?:\\.|[^\[\]\\])+)\]\((https?://[^()\s<>"\\]+)\)`)
	discordBare   = regexp.MustCompile(`^<(https?:/[^ <>]+)>`)
	discordFound  = regexp.MustCompile(`^https?://[^\s<]+[^<.,:;"')\]\s]`)
	discordSmall  = regexp.MustCompile(`^(#{1,3} |>|-#? )`)
)

const discordEscapable = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// showDiscord shows a message by Discord's rules, and fails for markup that is not
// whole on its line.
func showDiscord(t require.TestingT, message string) []shown {
	var all []shown
	fenced := false
	groups := 0
	for _, line := range strings.Split(message, "\n") {
		switch {
		case !fenced && discordFence.MatchString(line), fenced && line == "```":
			fenced = !fenced
		case fenced:
			require.NotContains(t, line, "```", "%q", message)
			for _, r := range line {
				all = append(all, shown{char: r, styles: "p"})
			}
		default:
			line = strings.TrimPrefix(line, "> ")
			require.NotRegexp(t, discordSmall, line, "%q", message)
			p := discordLine{t: t, message: message, groups: groups}
			p.show(line)
			require.Empty(t, p.open, "an open style: %q", message)
			all, groups = append(all, p.all...), p.groups
		}
	}
	require.False(t, fenced, "an open fence: %q", message)
	return all
}

type discordLine struct {
	t       require.TestingT
	message string
	open    []string // marks
	all     []shown
	groups  int
}

// add shows a text with the open styles.
func (p *discordLine) add(text, style, link string, group int) {
	letters := map[string]string{"**": "b", "*": "i", "_": "i", "~~": "s", "__": ""}
	styles := []string{style}
	for _, mark := range p.open {
		styles = append(styles, letters[mark])
	}
	for _, r := range text {
		p.all = append(p.all, shown{char: r, styles: styleSet(styles...), link: link, added: group})
	}
}

// show reads a line from its start to its end.
func (p *discordLine) show(line string) {
	for before := rune(0); line != ""; {
		r, size := utf8.DecodeRuneInString(line)
		switch {
		case r == '\\':
			r, after := utf8.DecodeRuneInString(line[1:])
			require.True(p.t, strings.ContainsRune(discordEscapable, r), "a backslash that shows: %q", p.message)
			p.add(string(r), "", "", 0)
			size = 1 + after
		case r == '`':
			size = p.code(line)
		case r == '<':
			size = p.bare(line, before)
		case r == '[':
			size = p.link(line)
		case r == '*' || r == '_' || r == '~':
			size = p.mark(line)
		default:
			require.NotEqual(p.t, '|', r, "a spoiler: %q", p.message)
			require.False(p.t, r == 'h' && discordFound.MatchString(line), "an address that Discord finds by itself: %q", p.message)
			p.add(string(r), "", "", 0)
		}
		before = r
		line = line[size:]
	}
}

func (p *discordLine) code(line string) int {
	ticks := len(line) - len(strings.TrimLeft(line, "`"))
	require.Less(p.t, ticks, 3, "a fence inside a line: %q", p.message)
	mark := line[:ticks]
	end := strings.Index(line[ticks:], mark)
	for end >= 0 && strings.HasPrefix(line[ticks+end+ticks:], "`") {
		run := len(line[ticks+end:]) - len(strings.TrimLeft(line[ticks+end:], "`"))
		next := strings.Index(line[ticks+end+run:], mark)
		if next < 0 {
			end = -1
			break
		}
		end += run + next
	}
	require.Positive(p.t, end, "an open code: %q", p.message)
	require.Empty(p.t, p.open, "a code in a style: %q", p.message)
	p.add(line[ticks:ticks+end], "c", "", 0)
	return 2*ticks + end
}

// bare shows an address as it is; in brackets it may be one that stood behind a text's link.
func (p *discordLine) bare(line string, before rune) int {
	at := discordBare.FindStringSubmatch(line)
	require.NotNil(p.t, at, "a bracket that could be a mention: %q", p.message)
	if before != '(' || !strings.HasPrefix(line[len(at[0]):], ")") {
		p.add(at[1], "", at[1], 0)
		return len(at[0])
	}
	p.groups++
	p.all[len(p.all)-1].added = p.groups
	p.add(at[1]+")", "", at[1], p.groups)
	return len(at[0]) + 1
}

func (p *discordLine) link(line string) int {
	at := discordAnchor.FindStringSubmatch(line)
	require.NotNil(p.t, at, "a bracket that could be a link: %q", p.message)
	require.NotContains(p.t, at[1], "://", "Discord refuses the link: %q", p.message)
	label := &discordLine{t: p.t, message: p.message}
	label.show(at[1])
	require.Empty(p.t, label.open, "an open style in a link: %q", p.message)
	var text strings.Builder
	for _, s := range label.all {
		text.WriteRune(s.char)
	}
	p.add(text.String(), "", at[2], 0)
	return len(at[0])
}

// mark opens or closes a style.
func (p *discordLine) mark(line string) int {
	for _, mark := range []string{"**", "__", "~~", "*", "_"} {
		if !strings.HasPrefix(line, mark) {
			continue
		}
		rest, _ := utf8.DecodeRuneInString(line[len(mark):])
		if n := len(p.open); n > 0 && p.open[n-1] == mark {
			p.open = p.open[:n-1]
			return len(mark)
		}
		require.NotContains(p.t, p.open, mark, "a style in itself: %q", p.message)
		require.NotEqual(p.t, ' ', rest, "a mark beside a space: %q", p.message)
		p.open = append(p.open, mark)
		return len(mark)
	}
	require.Fail(p.t, "an invalid mark", "%q", p.message)
	return 1
}

// discordSame: addresses have no style, and a link's text has none of its own.
func discordSame(want, got shown) bool {
	if want.char != got.char {
		return false
	}
	return want.styles == got.styles || got.styles == "" && got.link != ""
}

var discordChat = chat{split: markdown.SplitDiscordAt, render: markdown.Discord, units: utf8.RuneCountInString, show: showDiscord, same: discordSame}

func TestDiscordProperties(t *testing.T) {
	t.Parallel()
	discordChat.properties(t)
}

func TestDiscordLongTexts(t *testing.T) {
	t.Parallel()
	discordChat.long(t, 2000)
}

func TestDiscordKeepsLinksWhole(t *testing.T) {
	t.Parallel()
	discordChat.wholeLinks(t, 2000)
}

func FuzzDiscord(f *testing.F) {
	f.Add("**a** [b](https://example.org)\n```go\nx\n```\n> q\n- l <@123>")
	f.Fuzz(func(t *testing.T, text string) {
		sameText(t, showHTML(text), withoutGaps(showDiscord(t, markdown.Discord(text))), text, discordSame)
	})
}

func FuzzSplitDiscord(f *testing.F) {
	f.Add("**a** [b](https://example.org)\n```go\nx\n```\n> q\n- l <@123>", 1500)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 1200 || limit > 2000 {
			t.Skip()
		}
		discordChat.check(t, text, limit)
	})
}
