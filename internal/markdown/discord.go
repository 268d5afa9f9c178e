package markdown

import (
	"strings"
	"unicode/utf8"
)

// discordLimit is how many Unicode code points Discord takes in one message.
const discordLimit = 2000

// Discord renders Markdown as the Markdown of Discord, which is its own. Nothing
// that the text says can become markup that was none. It is empty for a text that
// shows nothing.
func Discord(text string) string { return discordDialect.render(discord(discordLimit).blocks(text)) }

// SplitDiscord cuts Markdown into pieces of at most 2,000 Unicode code points each,
// as [Discord] renders them. What [Split] promises of the cuts holds here too.
func SplitDiscord(text string) []string { return split(text, discord(discordLimit)) }

// discord counts Unicode code points of the Markdown that is sent.
func discord(limit int) platform {
	return platform{
		limit: limit, entities: unbounded, between: len("\n> \n"),
		prepare: func(b block) block { return linkBare(unlinkLong(b)) },
		length:  func(b block) int { return utf8.RuneCountInString(discordDialect.render([]block{b})) },
		frame:   discordFrame,
		open:    discordOpen,
		char:    discordChar,
	}
}

func discordFrame(b block) int {
	switch {
	case b.code:
		return len("```\n\n```") + len(b.lang)
	case b.quote:
		return len("> ")
	}
	return 0
}

func discordOpen(s span) int {
	n := 0
	if s.style&code != 0 {
		n += len("``  ``")
	}
	if s.style != 0 {
		open, _ := discordMarks(s.style)
		n += 2 * len(open)
	}
	if s.url != "" {
		n += len(" (<>)") + addressCost(s.url)
	}
	return n + 1 // a border before it
}

func discordChar(b block, s span, r rune) int {
	switch {
	case r == '\n' && !b.code:
		return 1 + discordFrame(b) + discordOpen(s)
	case r == ':':
		return len("<:>") + discordOpen(s) // of an address, which ends the style
	case strings.ContainsRune(discordSpecial+">#-", r):
		return 2
	}
	return 1
}

var discordDialect = &dialect{
	literal: discordLiteral,
	marks:   discordMarks,
	code:    discordCode,
	fence: func(b block) string {
		return "```" + b.lang + "\n" + breakFences(b.spans[0].text) + "\n```"
	},
	address: func(address string) string { return "<" + address + ">" },
	link:    discordLink,
	border:  func(_ rune, marked bool, _ rune, marks bool) bool { return marked && marks },
}

// discordMarks writes italics inside other styles with the other mark, because a
// row of asterisks has more than one meaning.
func discordMarks(st style) (open, closing string) {
	italics := "*"
	if st&bold != 0 {
		italics = "_"
	}
	for _, m := range []struct {
		style style
		mark  string
	}{{strike, "~~"}, {underline, "__"}, {bold, "**"}, {italic, italics}} {
		if st&m.style != 0 {
			open, closing = open+m.mark, m.mark+closing
		}
	}
	return open, closing
}

func discordCode(text string) (string, bool) {
	if !strings.Contains(text, "`") {
		return "`" + text + "`", true
	}
	return "`` " + breakTicks(text) + " ``", true
}

// discordLink writes a masked link where Discord takes one: it refuses texts that
// look like an address, and reads brackets in them differently at each place.
func discordLink(w *lineWriter, s span) {
	if !isWeb(s.url) || strings.ContainsAny(s.text, "[]") || strings.Contains(s.text, "://") {
		w.text(s.text)
		w.raw(" (<" + encode(s.url, mustEncode) + ">)")
		return
	}
	w.raw("[")
	discordLiteral(w, s.text)
	w.raw("](" + encode(s.url, mustEncode) + ")")
}

// discordSpecial are the characters that can be markup anywhere.
const discordSpecial = "\\*_~`|<["

// discordLiteral escapes also what Discord would take for an address, and show
// with the escapes in it.
func discordLiteral(w *lineWriter, text string) {
	for i, r := range text {
		switch {
		case strings.ContainsRune(discordSpecial, r),
			w.last == '\n' && strings.ContainsRune(">#-", r),
			r == ':' && strings.HasPrefix(text[i:], "://"):
			w.rune('\\')
		}
		w.rune(r)
	}
}
