package adapters

import "strings"

// LeftOut ends a text that was too long.
const LeftOut = "… and more, which is left out"

// Lines builds a text of limited size. The rest is left out, and [LeftOut] says so.
type Lines struct {
	max  int
	b    strings.Builder
	full bool
}

// NewLines creates an empty text of at most this many bytes, not counting the note at its end.
func NewLines(bytes int) *Lines { return &Lines{max: bytes} }

// Write adds to the current line.
func (l *Lines) Write(text string) {
	room := l.max - l.b.Len()
	switch {
	case l.full:
	case len(text) > room:
		l.b.WriteString(strings.ToValidUTF8(text[:room], "") + "\n" + LeftOut)
		l.full = true
	default:
		l.b.WriteString(text)
	}
}

// Line adds lines, unless the text is empty.
func (l *Lines) Line(text string) {
	if text = strings.TrimRight(text, "\n"); text != "" {
		l.Write(text + "\n")
	}
}

// String returns the text without surrounding space.
func (l *Lines) String() string { return strings.TrimSpace(l.b.String()) }

// JoinLines joins texts, each on its own line, without surrounding space and without empty lines.
func JoinLines(bytes int, texts ...string) string {
	l := NewLines(bytes)
	for _, t := range texts {
		l.Line(strings.TrimSpace(t))
	}
	return l.String()
}
