package markdown

import (
	"strings"
	"unicode/utf8"
)

// discordLimit is the maximum number of Unicode code points in a Discord message.
const discordLimit = 2000

// Discord renders Markdown in Discord's own dialect. No text can become markup unintentionally. The result is empty
// for a text that shows nothing.
func Discord(text string) string { return discordDialect.render(discord(discordLimit).blocks(text)) }

// SplitDiscord cuts Markdown into chunks of at most 2,000 Unicode code points each, as rendered by [Discord]. The
// guarantees of [Split] about cuts apply here, too.
func SplitDiscord(text string) []string { return split(text, discord(discordLimit)) }

// discord counts the Unicode code points of the Markdown that is sent.
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
	return n + 1 // for a boundary before it
}

func discordChar(b block, s span, r rune) int {
	switch {
	case r == '\n' && !b.code:
		return 1 + discordFrame(b) + discordOpen(s)
	case r == ':':
		return len("<:>") + discordOpen(s) // for an address, which ends the style
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
	after:   discordAfter,
	border:  func(_ rune, marked bool, _ rune, marks bool) bool { return marked && marks },
}

// discordMarks uses the other mark for italics inside other styles, because a row of asterisks is ambiguous.
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

// discordLink writes a masked link where Discord accepts one: Discord refuses texts that look like an address, and
// treats brackets in them differently in each place.
func discordLink(w *lineWriter, s span) {
	if !isWeb(s.url) || strings.ContainsAny(s.text, "[]") || strings.Contains(s.text, "://") {
		w.text(s.text)
		w.raw(discordAfter(s.url))
		return
	}
	w.raw("[")
	discordLiteral(w, s.text)
	w.raw("](" + encode(s.url, mustEncode) + ")")
}

// discordAfter writes the address of a link after its text.
func discordAfter(address string) string { return " (<" + encode(address, mustEncode) + ">)" }

// discordSpecial are the characters that can be markup anywhere.
const discordSpecial = "\\*_~`|<["

// discordLiteral also escapes text that Discord would take for an address and show with its escapes.
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
