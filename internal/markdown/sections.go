package markdown

import (
	"strings"
	"unicode/utf8"
)

// A Markdown parser looks back and ahead, so the time for a hostile text grows with the square of its length, or
// worse. Therefore a text is parsed in sections of bounded length: the time per section is bounded, and the number of
// sections grows with the text. Ordinary answers have one section. Longer ones are cut between two paragraphs, where
// the cut is invisible. Only a paragraph, list, table or quote that is longer than a section is cut inside: styles,
// nested lists and tables do not continue after that cut, and their markup is shown as text.
const (
	sectionMax  = 16 << 10
	sectionGood = sectionMax / 2 // above this length, a section ends before the next paragraph
)

// section is a part of a text.
type section struct {
	text      string
	fence     bool   // text is the content of a fence that is longer than a section
	lang      string // of the fence
	continues bool   // continues the paragraph of the previous section
	gap       string // the text between the two
}

// sections cuts a text into sections.
func sections(source string) []section {
	if len(source) <= sectionMax {
		return []section{{text: source}}
	}
	c := cutter{source: source}
	for at := 0; at < len(source); {
		end := len(source)
		if i := strings.IndexByte(source[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		c.line(at, end)
		at = end
	}
	c.finish()
	return c.sections
}

// cutter reads the lines of a text.
type cutter struct {
	source    string
	sections  []section
	start     int  // of the current section
	continues bool // the current section continues the previous paragraph
	gap       string
	good      int  // start of the last line of the section that does not continue the line before it; 0: every line does
	blank     bool // the previous line shows nothing

	fence   string // the marks of the open fence
	fenceAt int    // start of the fence's line
	content int    // start of the fence's content
	lang    string
}

func (c *cutter) line(at, end int) {
	line := c.source[at:end]
	if c.fence != "" {
		c.fenced(line, at, end)
		return
	}
	c.candidate(line, at)
	if marks, lang := opensFence(line); marks != "" {
		c.fence, c.fenceAt, c.content, c.lang = marks, at, end, lang
	}
	c.bound(at, end)
	c.blank = strings.TrimSpace(line) == ""
}

// candidate ends the section before a line that starts a paragraph, if the section is long enough.
func (c *cutter) candidate(line string, at int) {
	if at == c.start || strings.IndexByte(" \t\n", line[0]) >= 0 {
		return
	}
	switch {
	case c.blank && at-c.start >= sectionGood:
		c.cut(at)
	case c.blank || strings.IndexByte("-*+#>", line[0]) >= 0 || line[0] >= '0' && line[0] <= '9':
		c.good = at
	}
}

// bound prevents a line from making the section too long.
func (c *cutter) bound(at, end int) {
	if end-c.start <= sectionMax {
		return
	}
	switch {
	case c.good-c.start > sectionGood/2:
		c.cut(c.good)
	case at > c.start:
		c.cut(at)
		c.continues, c.gap = true, "\n"
	}
	for end-c.start > sectionMax {
		place, space := inLine(c.source[c.start : c.start+sectionMax])
		c.cut(c.start + place)
		c.continues, c.gap = true, space
	}
}

// inLine returns a position where a line may be cut: before a word, so that the rest does not look like a list item,
// for example.
func inLine(line string) (at int, joint string) {
	for i := len(line) - 1; i > len(line)/2; i-- {
		if line[i-1] == ' ' && isLetter(line[i]) {
			return i, " "
		}
	}
	at = len(line)
	for at > len(line)/2 && (!utf8.RuneStart(line[at-1]) || line[at-1] >= utf8.RuneSelf || line[at-1] == '\\') {
		at--
	}
	return at, ""
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

// fenced handles a line inside a fence. A short fence belongs to its section. A long one becomes a section that is
// not parsed, because nothing in it can be markup.
func (c *cutter) fenced(line string, at, end int) {
	closes := closesFence(line, c.fence)
	switch {
	case !closes && end-c.content <= sectionMax:
		return
	case end-c.content <= sectionMax:
		c.fence, c.blank = "", false
		c.bound(c.fenceAt, end)
	case closes:
		c.takeFence(at, end)
	}
}

// takeFence makes a section of a long fence.
func (c *cutter) takeFence(to, end int) {
	if c.fenceAt > c.start {
		c.cut(c.fenceAt)
	}
	c.sections = append(c.sections, section{text: c.source[c.content:to], fence: true, lang: c.lang})
	c.start, c.continues, c.good, c.blank, c.fence = end, false, 0, true, ""
}

// cut ends the section at a place.
func (c *cutter) cut(at int) {
	c.sections = append(c.sections, section{text: c.source[c.start:at], continues: c.continues, gap: c.gap})
	c.start, c.continues, c.gap, c.good = at, false, "", 0
}

func (c *cutter) finish() {
	if c.fence != "" && len(c.source)-c.content > sectionMax {
		c.takeFence(len(c.source), len(c.source))
	}
	if c.fence != "" {
		c.bound(c.fenceAt, len(c.source))
	}
	if c.start < len(c.source) {
		c.cut(len(c.source))
	}
}

const fenceIndent = 3 // maximum number of spaces before a fence

// opensFence returns the marks and the language of a line that opens a fence, and nothing for other lines.
func opensFence(line string) (marks, lang string) {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > fenceIndent || text == "" || text[0] != '`' && text[0] != '~' {
		return "", ""
	}
	rest := strings.TrimLeft(text, text[:1])
	marks = text[:len(text)-len(rest)]
	if len(marks) < 3 || marks[0] == '`' && strings.Contains(rest, "`") {
		return "", ""
	}
	lang, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
	return marks, lang
}

func closesFence(line, marks string) bool {
	text := strings.TrimLeft(line, " ")
	return len(line)-len(text) <= fenceIndent && strings.HasPrefix(text, marks) && strings.Trim(text, marks[:1]+" \t\n") == ""
}
