package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// zeroWidth is added where a platform needs a word boundary and the text has no space.
const zeroWidth = '\u200b'

// dialect writes the markup of a platform that uses marks inside the text. A mark must not extend over the end of a
// line or stand next to white space: platforms do not recognise it there.
type dialect struct {
	literal func(w *lineWriter, text string)          // writes text so that none of it is markup
	marks   func(style) (open, closing string)        // for any style except code
	code    func(text string) (shown string, ok bool) // for a span; not ok if the text can't be code
	fence   func(b block) string                      // for a block
	address func(address string) string               // for an address that is shown as it is
	edges   string                                    // characters, besides white space, next to which a mark does not work
	link    func(w *lineWriter, s span)               // for a link whose text is not its address
	after   func(address string) string               // for a link whose text contains another address; nil if link can write it

	// border reports whether a text that begins with next (or with its mark, if it has marks) needs a boundary after
	// the last rune, which closed a mark if marked is true.
	border func(last rune, marked bool, next rune, marks bool) bool
}

// lineWriter writes the blocks of one message.
type lineWriter struct {
	strings.Builder
	dialect *dialect
	last    rune // the last rune written; zero at the start
	marked  bool // last belongs to a mark
}

// render writes blocks in a dialect.
func (d *dialect) render(blocks []block) string {
	w := &lineWriter{dialect: d}
	quoted := false // the previous block was a quote
	for i, b := range blocks {
		if i > 0 {
			w.line()
			if b.quote && quoted {
				w.raw("> ")
			}
			w.line()
		}
		quoted = b.quote
		if b.code {
			w.raw(d.fence(b))
			w.last = '\n'
			continue
		}
		w.block(b)
	}
	return w.String()
}

// block writes a text.
func (w *lineWriter) block(b block) {
	w.begin(b)
	for _, s := range b.spans {
		for i, line := range strings.Split(s.text, "\n") {
			if i > 0 {
				w.line()
				w.begin(b)
			}
			w.span(s, line)
		}
	}
}

// begin starts a line of a block.
func (w *lineWriter) begin(b block) {
	if b.quote {
		w.raw("> ")
	}
	w.last, w.marked = '\n', false
}

func (w *lineWriter) line() { w.raw("\n") }

// raw writes markup.
func (w *lineWriter) raw(s string) {
	if s != "" {
		w.WriteString(s)
		w.last, _ = utf8.DecodeLastRuneInString(s)
	}
}

// span writes the part of a span on one line. Addresses in it get no style: otherwise they would swallow the marks,
// or marks would end at one of their characters.
func (w *lineWriter) span(s span, line string) {
	addresses := bareAddresses(line)
	if s.style&code != 0 || s.url == line || s.url != "" && (w.dialect.after == nil || len(addresses) == 0) {
		w.styled(s, line)
		return
	}
	from, text := 0, span{style: s.style}
	for _, at := range addresses {
		w.styled(text, line[from:at[0]])
		w.core(span{url: line[at[0]:at[1]]}, line[at[0]:at[1]])
		from = at[1]
	}
	w.styled(text, line[from:])
	if s.url != "" {
		w.raw(w.dialect.after(s.url))
		w.marked = false
	}
}

// styled writes a text with its marks, where marks are possible.
func (w *lineWriter) styled(s span, text string) {
	core := w.dialect.core(s, text)
	if core == "" {
		w.plain(text)
		return
	}
	at := strings.Index(text, core)
	w.plain(text[:at])
	w.core(s, core)
	w.plain(text[at+len(core):])
}

// core returns the part of a text that marks can enclose.
func (d *dialect) core(s span, line string) string {
	switch {
	case strings.TrimSpace(line) == "", s.style == 0 && s.url == "":
		return ""
	case s.style&code != 0, s.url == line:
		return line
	case s.url != "":
		return strings.TrimFunc(line, unicode.IsSpace)
	}
	return strings.TrimFunc(line, d.isEdge)
}

func (d *dialect) isEdge(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(d.edges, r) }

// plain writes unstyled text next to marks.
func (w *lineWriter) plain(text string) {
	if text != "" {
		w.core(span{}, text)
	}
}

// core writes a text without surrounding white space in its style.
func (w *lineWriter) core(s span, text string) {
	s.text = text
	open, closing := w.marks(&s)
	first, _ := utf8.DecodeRuneInString(text)
	marks := open != "" || s.style&code != 0
	if w.dialect.border(w.last, w.marked, first, marks) {
		w.raw(string(zeroWidth))
	}
	w.raw(open)
	switch {
	case s.style&code != 0:
		w.raw(s.text)
	case s.url != "" && s.url != s.text:
		w.dialect.link(w, s)
	default:
		w.text(s.text)
	}
	w.raw(closing)
	w.marked = marks
}

// marks returns the marks of a span that is not code; none if an address is shown.
func (w *lineWriter) marks(s *span) (open, closing string) {
	if s.style&code != 0 {
		shown, ok := w.dialect.code(s.text)
		if ok {
			s.text = shown
			return "", ""
		}
		s.style = 0
	}
	if s.url != "" && len(bareAddresses(s.text)) > 0 {
		s.style = 0
	}
	return w.dialect.marks(s.style)
}

// text writes a text and the addresses in it.
func (w *lineWriter) text(text string) {
	from := 0
	for _, at := range bareAddresses(text) {
		w.dialect.literal(w, text[from:at[0]])
		w.raw(w.dialect.address(text[at[0]:at[1]]))
		from = at[1]
	}
	w.dialect.literal(w, text[from:])
}

func (w *lineWriter) rune(r rune) {
	w.WriteRune(r)
	w.last = r
}

// isWeb reports whether chat platforms turn an address into a link.
func isWeb(address string) bool {
	return strings.HasPrefix(strings.ToLower(address), "http")
}

// breakFences prevents a code block from ending inside its content.
func breakFences(content string) string {
	if !strings.Contains(content, "```") {
		return content
	}
	return breakTicks(content)
}

// breakTicks separates adjacent backticks.
func breakTicks(content string) string {
	for strings.Contains(content, "``") {
		content = strings.ReplaceAll(content, "``", "`"+string(zeroWidth)+"`")
	}
	return content
}
