package markdown

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// indent starts nested list items, once per level. Ordinary spaces would be removed at the start of a line.
const (
	indent    = "\u00a0\u00a0\u00a0"
	maxIndent = 8
)

const rule = "———"

// spareMore is how many bytes the addresses of link definitions may add to any text, besides its own length.
const spareMore = 4 << 10

// Text is parsed Markdown, for callers that need several results from it.
type Text struct {
	blocks     []block
	structured bool
}

// Parse reads Markdown.
func Parse(source string) Text {
	source = plainSource(source)
	if isPlain(source) {
		return Text{blocks: plainBlocks(source)}
	}
	structured := false
	p := &builder{spare: len(source) + spareMore}
	forest(source, func(s section, bytes []byte, tree ast.Node) {
		structured = structured || tree != nil && isStructured(tree)
		p.section(s, bytes, tree)
	})
	p.finish()
	return Text{p.blocks, structured}
}

// Structured reports whether the text has something that flat messages can't show well: a table or a nested list.
func (t Text) Structured() bool { return t.structured }

// parse reads Markdown and omits blocks that show nothing.
func parse(source string) []block { return Parse(source).blocks }

// reader is shared: it does not change after its creation.
var reader = newParser()

// section writes a section of the text.
func (p *builder) section(s section, source []byte, tree ast.Node) {
	if s.fence {
		p.code(s.lang, s.text)
		return
	}
	p.source, p.fresh = source, &s
	p.children(tree, place{})
}

// isPlain reports whether nothing in the text can be markup, so that it needs no parser, like most short answers.
func isPlain(source string) bool {
	lineStart := true
	for i := range len(source) {
		switch c := source[i]; {
		case strings.IndexByte("\\`*_[]<>&~|#", c) >= 0:
			return false
		case lineStart && (strings.IndexByte("-+=: \t", c) >= 0 || c >= '0' && c <= '9'):
			return false
		}
		lineStart = source[i] == '\n'
	}
	return true
}

func plainBlocks(source string) []block {
	p := &builder{}
	for _, paragraph := range strings.Split(source, "\n\n") {
		p.begin(place{})
		p.write(paragraph, 0, "")
	}
	p.finish()
	return p.blocks
}

// place is the position of a node in the document.
type place struct {
	quote bool
	list  int // nesting of lists; 0 outside lists
}

// builder collects blocks.
type builder struct {
	source []byte   // source of the section
	fresh  *section // the section, until its first text begins
	spare  int      // bytes that addresses of link definitions may still add
	blocks []block

	open bool   // the last block is a text that can still grow
	text joiner // that text
	list bool   // text is a list, so the next item joins it
	raw  style  // style of the open HTML tags
}

func (p *builder) children(n ast.Node, at place) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		p.node(c, at)
	}
}

func (p *builder) node(n ast.Node, at place) {
	switch n := n.(type) {
	case *ast.Heading:
		p.begin(at)
		p.inlines(n, bold, "")
	case *ast.Blockquote:
		at.quote = true
		p.finish()
		p.children(n, at)
	case *ast.List:
		p.items(n, at)
	case *ast.FencedCodeBlock:
		p.code(string(n.Language(p.source)), p.lines(n))
	case *ast.CodeBlock:
		p.code("", p.lines(n))
	case *ast.ThematicBreak:
		p.begin(at)
		p.write(rule, 0, "")
	case *ast.HTMLBlock:
		p.begin(at)
		p.write(p.lines(n)+p.closure(n), 0, "")
	case *extast.Table:
		p.code("", p.table(n))
	default: // paragraphs, and everything else with inline content
		p.begin(at)
		p.inlines(n, 0, "")
	}
}

func (p *builder) closure(n *ast.HTMLBlock) string {
	if !n.HasClosure() {
		return ""
	}
	return string(n.ClosureLine.Value(p.source))
}

func (p *builder) lines(n ast.Node) string {
	return string(n.Lines().Value(p.source))
}

func (p *builder) items(list *ast.List, at place) {
	at.list++
	number := list.Start
	for item := list.FirstChild(); item != nil; item = item.NextSibling() {
		marker := "• "
		if list.IsOrdered() {
			marker = strconv.Itoa(number) + ". "
			number++
		}
		p.begin(at)
		p.write(strings.Repeat(indent, min(at.list-1, maxIndent))+marker, 0, "")
		p.item(item, at)
	}
	if at.list == 1 {
		p.finish()
	}
}

// item writes a list item, with its first paragraph after the marker.
func (p *builder) item(item ast.Node, at place) {
	for c := item.FirstChild(); c != nil; c = c.NextSibling() {
		first := c == item.FirstChild()
		switch c.(type) {
		case *ast.Paragraph, *ast.TextBlock:
			if !first {
				p.begin(at)
			}
			p.inlines(c, 0, "")
		case *ast.Heading:
			if !first {
				p.begin(at)
			}
			p.inlines(c, bold, "")
		default:
			p.node(c, at)
		}
	}
}

// begin starts a text block; inside a list it starts a line of the list's block.
func (p *builder) begin(at place) {
	if p.continues(at) {
		return
	}
	p.raw = 0
	if at.list > 0 && p.open && p.list && p.blocks[len(p.blocks)-1].quote == at.quote {
		p.write("\n", 0, "")
		return
	}
	p.finish()
	p.blocks = append(p.blocks, block{quote: at.quote})
	p.open, p.list = true, at.list > 0
}

// continues reports whether the first text of a section continues the last text of the previous section.
func (p *builder) continues(at place) bool {
	s := p.fresh
	p.fresh = nil
	if s == nil || !s.continues || !p.open || p.blocks[len(p.blocks)-1].quote != at.quote {
		return false
	}
	p.write(s.gap, 0, "")
	return true
}

// finish ends the growing text block, and drops it if it shows nothing.
func (p *builder) finish() {
	if !p.open {
		return
	}
	p.open = false
	last := &p.blocks[len(p.blocks)-1]
	last.spans = tidy(p.text.all())
	if len(last.spans) == 0 {
		p.blocks = p.blocks[:len(p.blocks)-1]
	}
}

// write adds text to the growing block.
func (p *builder) write(text string, st style, url string) {
	if !p.open {
		p.begin(place{})
	}
	p.text.add(span{text, st, url})
}

func (p *builder) code(lang, content string) {
	p.finish()
	content = strings.TrimRight(content, "\n")
	if strings.TrimSpace(content) == "" {
		return
	}
	p.blocks = append(p.blocks, block{code: true, lang: cleanLang(lang), spans: []span{{text: content}}})
}

// cleanLang keeps the characters that are valid in a fence and in an attribute.
func cleanLang(lang string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("+#._-", r)) {
			return r
		}
		return -1
	}, lang)
}

// tidy removes empty lines, and spaces at both ends of each line.
func tidy(spans []span) []span {
	out := joiner{spans: make([]span, 0, len(spans))}
	var gap []span // white space that counts only before further text
	start := true  // at the start of a line
	for _, s := range spans {
		for rest := s.text; rest != ""; {
			if rest[0] == '\n' {
				if !start {
					gap = append(gap[:0], span{rest[:1], s.style, s.url})
				}
				rest, start = rest[1:], true
				continue
			}
			line := rest
			if end := strings.IndexByte(rest, '\n'); end > 0 {
				line = rest[:end]
			}
			rest = rest[len(line):]
			if start {
				line = strings.TrimLeft(line, " \t")
			}
			text := strings.TrimRight(line, " \t")
			if text != "" {
				for _, g := range gap {
					out.add(g)
				}
				gap, start = gap[:0], false
				out.add(span{text, s.style, s.url})
			}
			if space := line[len(text):]; space != "" && !start {
				gap = append(gap, span{space, s.style, s.url})
			}
		}
	}
	return dropInvisible(out.all())
}

// dropInvisible returns nothing for a text that no platform would show.
func dropInvisible(spans []span) []span {
	for _, s := range spans {
		if strings.ContainsFunc(s.text, isVisible) {
			return spans
		}
	}
	return nil
}

func isVisible(r rune) bool {
	return !unicode.IsSpace(r) && !strings.ContainsRune("\u200b\u200c\u200d\u2060\ufeff", r)
}
