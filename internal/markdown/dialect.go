package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// zeroWidth stands where a platform needs a word's border and the text has none.
const zeroWidth = '\u200b'

// dialect is how a platform that takes marks inside the text writes them. Marks
// never go over the end of a line, and never stand next to white space: such
// marks are none.
type dialect struct {
	literal func(w *lineWriter, text string)          // text, so that none of it is markup
	marks   func(style) (open, closing string)        // of any style but code
	code    func(text string) (shown string, ok bool) // of a span; not ok for what can't be code
	fence   func(b block) string                      // of a block
	address func(address string) string               // that is shown as it is
	edges   string                                    // besides white space, what no mark can stand beside
	link    func(w *lineWriter, s span)               // whose text is not its address

	// border: a text that begins with next, or its mark if it has marks, needs a
	// border to the last rune, which closed a mark if marked.
	border func(last rune, marked bool, next rune, marks bool) bool
}

// lineWriter writes the blocks of one message.
type lineWriter struct {
	strings.Builder
	dialect *dialect
	last    rune // that was written; zero at the start
	marked  bool // it belongs to a mark
}

// render writes blocks in a dialect.
func (d *dialect) render(blocks []block) string {
	w := &lineWriter{dialect: d}
	quoted := false // the block before
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

// raw writes what is not text.
func (w *lineWriter) raw(s string) {
	if s != "" {
		w.WriteString(s)
		w.last, _ = utf8.DecodeLastRuneInString(s)
	}
}

// span writes the part of a span that stands on one line. The addresses in it
// have no style: they would take the marks for their own, or marks would end at
// one of their characters.
func (w *lineWriter) span(s span, line string) {
	if s.url != "" || s.style&code != 0 {
		w.styled(s, line)
		return
	}
	from := 0
	for _, at := range bareAddresses(line) {
		w.styled(s, line[from:at[0]])
		w.core(span{url: line[at[0]:at[1]]}, line[at[0]:at[1]])
		from = at[1]
	}
	w.styled(s, line[from:])
}

// styled writes a text with its marks, as far as they can stand around it.
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

// core is the part of a text that marks can stand around.
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

// plain writes what stands beside marks: in no style.
func (w *lineWriter) plain(text string) {
	if text != "" {
		w.core(span{}, text)
	}
}

// core writes a text that neither begins nor ends with white space, in its style.
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

// marks are those of a span that is not code; none if an address is shown.
func (w *lineWriter) marks(s *span) (open, closing string) {
	if s.style&code != 0 {
		shown, ok := w.dialect.code(s.text)
		if ok {
			s.text = shown
			return "", ""
		}
		s.style = 0
	}
	if s.url != "" && strings.Contains(s.text, "://") {
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

// isWeb: chat platforms make links of no other addresses.
func isWeb(address string) bool {
	return strings.HasPrefix(strings.ToLower(address), "http")
}

// breakFences keeps a code block from ending inside its content.
func breakFences(content string) string {
	if !strings.Contains(content, "```") {
		return content
	}
	return breakTicks(content)
}

// breakTicks keeps backticks from standing beside each other.
func breakTicks(content string) string {
	for strings.Contains(content, "``") {
		content = strings.ReplaceAll(content, "``", "`"+string(zeroWidth)+"`")
	}
	return content
}
