// Package visible shows characters that a reader would not see, or that would change the look of others: characters
// that change the text direction, have no width, control a terminal, or hide letters behind an emoji. Each is written
// as its number, such as \u202e. This form is only for people who make decisions; stored texts are not changed.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text makes the hidden characters of a multi-line text visible. Line breaks and tabs stay.
func Text(s string) string { return escape(s, false) }

// Line returns a text on one line, with spaces for line breaks and tabs.
func Line(s string) string {
	return escape(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(s), false)
}

// Block returns a text as a code block, which the text itself can't end.
func Block(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

// spanMax is the maximum number of characters of a name that are shown.
const spanMax = 60

// CodeSpan shows a name that somebody chose as Markdown code on one line, so that it can't be taken for markup or for
// the gateway's own words.
func CodeSpan(name string) string {
	runes := []rune(Line(strings.Join(strings.Fields(strings.ReplaceAll(name, "`", "'")), " ")))
	return "`" + string(runes[:min(len(runes), spanMax)]) + "`"
}

// JSON makes the hidden characters in a JSON text visible without changing its meaning.
func JSON(s string) string { return escape(s, true) }

// escape writes hidden characters as numbers. With pairs, those above U+FFFF are written as two, as in JSON.
func escape(s string, pairs bool) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return suspect(r) || r == utf8.RuneError }) {
		return s
	}
	var b strings.Builder
	before := rune(0)
	for i, r := range s {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(s[i:])
		}
		after, _ := utf8.DecodeRuneInString(s[i+size:])
		switch {
		case r == utf8.RuneError && size == 1 && !pairs:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == utf8.RuneError && size == 1:
			b.WriteRune(r)
		case !suspect(r) || partOfEmoji(before, r, after):
			b.WriteRune(r)
		case r > 0xffff && pairs:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		before = r
	}
	return b.String()
}

const (
	joiner    = '\u200d' // joins emoji into one
	asText    = '\ufe0e' // says how an emoji is drawn
	asPicture = '\ufe0f'
	keycap    = '\u20e3'
	skinLight = '\U0001f3fb'
	skinDark  = '\U0001f3ff'
)

// suspect reports whether a character may be invisible.
func suspect(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < ' ', r == 0x7f:
		return true
	case r < 0x80:
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) ||
		r == '\u2800' // the empty Braille pattern
}

// partOfEmoji reports whether a character is a necessary part of an emoji.
func partOfEmoji(before, r, after rune) bool {
	switch r {
	case asText, asPicture:
		return isEmoji(before) || after == keycap
	case joiner:
		return (isEmoji(before) || before == asPicture) && isEmoji(after)
	}
	return false
}

func isEmoji(r rune) bool {
	return unicode.Is(unicode.So, r) || r >= skinLight && r <= skinDark
}
