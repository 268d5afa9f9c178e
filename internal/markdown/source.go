package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// source writes blocks as Markdown that parses to the same blocks.
func source(blocks []block) string {
	w := &writer{}
	for i, b := range blocks {
		w.prefix = ""
		if i > 0 {
			w.WriteString("\n")
			if b.quote && blocks[i-1].quote {
				w.WriteString(">")
			}
			w.WriteString("\n")
		}
		if b.code {
			w.fence(b)
			continue
		}
		if b.quote {
			w.prefix = "> "
		}
		w.text(b.spans)
	}
	return w.String()
}

type writer struct {
	strings.Builder
	prefix string // of each line of the block
	start  bool   // at the start of a line
}

func (w *writer) fence(b block) {
	content := b.spans[0].text
	fence := strings.Repeat("`", max(3, longestRun(content, '`')+1))
	w.WriteString(fence + b.lang + "\n" + content + "\n" + fence)
}

func (w *writer) text(spans []span) {
	w.WriteString(w.prefix)
	w.start = true
	var previous span
	for i, s := range spans {
		before, after := ' ', ' '
		if i > 0 {
			before, _ = utf8.DecodeLastRuneInString(previous.text)
		}
		previous = s
		if i+1 < len(spans) {
			after, _ = utf8.DecodeRuneInString(spans[i+1].text)
		}
		open, closing := marks(s, before, after)
		if s.url != "" {
			open, closing = "["+open, closing+"](<"+urlEscaper.Replace(s.url)+">)"
		}
		w.WriteString(open)
		w.start = w.start && open == ""
		if s.style&code != 0 {
			w.codeSpan(s.text)
		} else {
			w.escaped(s.text)
		}
		w.WriteString(closing)
		w.start = w.start && closing == ""
	}
}

// marks opens and closes a span's style: with asterisks where they certainly count as emphasis, and with HTML tags
// elsewhere.
func marks(s span, before, after rune) (open, closing string) {
	first, _ := utf8.DecodeRuneInString(s.text)
	last, _ := utf8.DecodeLastRuneInString(s.text)
	free := s.url == "" && isWord(first) && isWord(last) && unicode.IsSpace(before) && unicode.IsSpace(after)
	switch {
	case free && s.style == bold:
		return "**", "**"
	case free && s.style == italic:
		return "*", "*"
	case free && s.style == strike:
		return "~~", "~~"
	}
	for _, t := range htmlTags {
		if s.style&t.style != 0 && t.style != code {
			open += "<" + t.name + ">"
			closing = "</" + t.name + ">" + closing
		}
	}
	return open, closing
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func (w *writer) codeSpan(text string) {
	ticks := strings.Repeat("`", longestRun(text, '`')+1)
	pad := ""
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") ||
		strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ") && strings.Trim(text, " ") != "" {
		pad = " "
	}
	w.WriteString(ticks + pad + text + pad + ticks)
	w.start = false
}

// escaped writes text so that none of it is markup.
func (w *writer) escaped(text string) {
	digits := false // only digits since the start of the line
	for i, r := range text {
		switch {
		case r == '\n':
			w.WriteString("\n" + w.prefix)
			w.start, digits = true, false
			continue
		case strings.ContainsRune("\\`*_[]<~&", r),
			w.start && strings.ContainsRune("-+=#>|:", r),
			digits && (r == '.' || r == ')'),
			r == '!' && i == len(text)-1:
			w.WriteByte('\\')
		}
		digits = (w.start || digits) && r >= '0' && r <= '9'
		w.start = false
		w.WriteRune(r)
	}
}

var urlEscaper = strings.NewReplacer(`\`, `\\`, "<", `\<`, ">", `\>`, "&", `\&`)

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] == c {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}
