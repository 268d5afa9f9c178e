// Package markdown turns a model's Markdown into what chat platforms show, and
// cuts it into messages.
//
// One goldmark tree becomes a flat list of blocks: texts made of styled spans,
// and code. Chat platforms have no lists, headings or tables, so the parser
// writes those with bullets, bold and aligned columns. A renderer for one
// platform walks the blocks ([TelegramHTML], [SlackMrkdwn], [Discord]); the
// chunker ([Split], [SplitSlack], [SplitDiscord]) cuts them by what the platform
// counts, and writes each piece back as Markdown that parses to the very same
// blocks, so that pieces can be stored, shown and rendered later like any other
// text. A platform is added by a renderer and a value of what it counts.
package markdown

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// style is a set of text styles.
type style uint8

const (
	bold style = 1 << iota
	italic
	underline
	strike
	code // excludes all others, as on every chat platform
)

// span is a run of text in one style.
type span struct {
	text  string // never empty
	style style
	url   string // of a link; may be empty
}

// block is a paragraph or a code block. In a text, no line is empty and none begins or ends with a space; adjacent
// spans differ in style or link.
type block struct {
	code  bool
	lang  string // of code; may be empty
	quote bool   // part of a block quote; never for code
	spans []span // of code: exactly one, without style
}

// separator is the text between two blocks.
const separator = "\n\n"

// Plain returns a text as people see it, without markup.
func Plain(text string) string {
	var out strings.Builder
	for i, b := range parse(text) {
		if i > 0 {
			out.WriteString(separator)
		}
		for _, s := range b.spans {
			out.WriteString(s.text)
		}
	}
	return out.String()
}

// Escape returns Markdown that shows a text as it is.
func Escape(text string) string {
	w := &writer{}
	w.text([]span{{text: plainSource(text)}})
	return w.String()
}

// plainSource cleans a text before parsing: uniform line ends, valid UTF-8, no control characters.
func plainSource(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.IndexFunc(text, isControl) < 0 {
		return text
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case isControl(r):
			return -1
		}
		return r
	}, text)
}

func isControl(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }

// units is the length in UTF-16 code units, as platforms count.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += unitsOf(r)
	}
	return n
}

func unitsOf(r rune) int { return max(1, utf16.RuneLen(r)) }
