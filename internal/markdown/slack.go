package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// slackLimit is how many characters of a message Slack shows; it accepts longer messages and truncates them.
const slackLimit = 4000

// SlackMrkdwn renders Markdown as Slack's mrkdwn. No text can become a mention, a channel or a link unintentionally.
// The result is empty for a text that shows nothing.
func SlackMrkdwn(text string) string { return slackDialect.render(slack(slackLimit).blocks(text)) }

// SplitSlack cuts Markdown into chunks of at most 4,000 UTF-16 code units each, as rendered by [SlackMrkdwn], escapes
// included. The guarantees of [Split] about cuts apply here, too.
func SplitSlack(text string) []string { return split(text, slack(slackLimit)) }

// slack counts UTF-16 code units of the mrkdwn.
func slack(limit int) platform {
	return platform{
		limit: limit, entities: unbounded, between: len("\n> \n"),
		prepare: func(b block) block { return linkBare(unlinkLong(b)) },
		length:  func(b block) int { return units(slackDialect.render([]block{b})) },
		frame:   slackFrame,
		open:    slackOpen,
		char:    slackChar,
	}
}

func slackFrame(b block) int {
	switch {
	case b.code:
		return len("```\n\n```")
	case b.quote:
		return len("> ")
	}
	return 0
}

func slackOpen(s span) int {
	n := 0
	if s.style != 0 {
		open, _ := slackMarks(s.style)
		n += 2 * max(1, len(open))
	}
	if s.url != "" {
		n += len("<|>") + addressCost(s.url)
	}
	return n + 2 // for a boundary on each side
}

func slackChar(b block, s span, r rune) int {
	switch r {
	case '&':
		return len("&amp;")
	case '<', '>':
		return len("&gt;") + 1
	case '*', '_', '~', '|', '`':
		return 3
	case ':':
		return len("<:>") + slackOpen(s) // for an address, which ends the style
	case '\n':
		if !b.code {
			return 1 + slackFrame(b) + slackOpen(s)
		}
	}
	return unitsOf(r)
}

var slackDialect = &dialect{
	literal: slackLiteral,
	marks:   slackMarks,
	code:    slackCode,
	fence: func(b block) string {
		return "```\n" + slackEscaper.Replace(breakFences(b.spans[0].text)) + "\n```"
	},
	address: func(address string) string { return "<" + slackAddress(address, "") + ">" },
	link:    slackLink,
	border:  slackBorder,
	edges:   "*_~" + string(zeroWidth),
}

// slackEscaper escapes the characters that are special in Slack, even inside code.
var slackEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// slackMarks has no underline, because Slack can't show it.
func slackMarks(st style) (open, closing string) {
	for _, m := range []struct {
		style style
		mark  string
	}{{bold, "*"}, {italic, "_"}, {strike, "~"}} {
		if st&m.style != 0 {
			open, closing = open+m.mark, m.mark+closing
		}
	}
	return open, closing
}

// slackCode rejects code with a backtick: Slack has no longer code marks.
func slackCode(text string) (string, bool) {
	return "`" + slackEscaper.Replace(text) + "`", !strings.Contains(text, "`")
}

func slackLink(w *lineWriter, s span) {
	if !isWeb(s.url) {
		w.text(s.text)
		w.raw(" (" + slackAddress(s.url, marksOfStyles) + ")")
		return
	}
	inside := ""
	if s.style != 0 {
		inside = marksOfStyles
	}
	w.raw("<" + slackAddress(s.url, inside) + "|")
	slackLiteral(w, s.text)
	w.raw(">")
}

// slackAddress removes characters that would end an address, and some others.
func slackAddress(address, without string) string {
	return slackEscaper.Replace(encode(address, "<>| \t\n"+without))
}

// slackBorder reports whether a boundary is needed: Slack recognises a mark only next to white space or punctuation.
func slackBorder(last rune, marked bool, next rune, marks bool) bool {
	switch {
	case marks && marked:
		return true
	case marks:
		return !unicode.IsSpace(last) && !strings.ContainsRune("([{\"'", last)
	case marked:
		return !unicode.IsSpace(next) && !strings.ContainsRune(".,;:!?)]}\"'", next)
	}
	return false
}

// slackLiteral writes text. Slack has only the escapes of & < >. A backtick would be code anywhere, so it is replaced
// by a letter that looks the same.
func slackLiteral(w *lineWriter, text string) {
	before := ' '
	for i, r := range text {
		switch r {
		case '*', '_', '~':
			after, _ := utf8.DecodeRuneInString(text[i+1:])
			slackMark(w, before, r, after)
		case '`':
			w.rune('ˋ')
		case '>':
			if w.last == '\n' {
				w.rune(zeroWidth) // it would be a quote
			}
			w.raw("&gt;")
		case '<':
			w.raw("&lt;")
		case '&':
			w.raw("&amp;")
		default:
			w.rune(r)
		}
		before = r
	}
}

// slackMark writes a character that Slack could take for a mark. Inside a word it never does. Elsewhere, a boundary
// on each side is invisible and acts like a space, next to which no style begins or ends.
func slackMark(w *lineWriter, before, r, after rune) {
	if isWord(before) && isWord(after) {
		w.rune(r)
		return
	}
	if !unicode.IsSpace(w.last) && w.last != zeroWidth {
		w.rune(zeroWidth)
	}
	w.rune(r)
	if !unicode.IsSpace(after) {
		w.rune(zeroWidth)
	}
}
