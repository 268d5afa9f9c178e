package markdown

import "strings"

// maxEntities is how many styled runs one message may have; platforms drop the
// styles of those beyond a hundred.
const maxEntities = 90

// surelyFits is true for the usual answer, whose tree need not be made to know
// that it is one piece. Rendered, a text grows only where a line or a list item
// begins, by its indent, its marker and a space between blocks. Tables are not
// counted, and a text has no more styled runs than half its marks.
func surelyFits(text string, limit int) bool {
	const grows = 32 // units at a place where a line or an item may begin: the deepest indent has 24
	size, marks := len(text), 0
	if size > limit {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '|':
			return false
		case strings.IndexByte("*_~`[<#!:", c) >= 0: // also bare addresses and headings
			marks++
		}
		if beginsLine(text, i) {
			size += grows
		}
	}
	return size <= limit && marks < maxEntities
}

// beginsLine reports whether a byte of a text may begin a line or a list item when the text is rendered: a line end, or
// the marker of an item or a quote.
func beginsLine(text string, i int) bool {
	switch text[i] {
	case '\n', '\r', '>':
		return true
	case '-', '+', '*', '.', ')':
		return i+1 == len(text) || strings.IndexByte(" \t\n\r", text[i+1]) >= 0
	}
	return false
}

// Split cuts Markdown into pieces of at most limit UTF-16 code units each, as
// counted after rendering. It prefers to cut between paragraphs, then lines,
// sentences, words. A fence or style that goes over a cut is closed and opened
// again; a link is cut only if it alone is longer than a piece. Only white space
// at the cuts is lost. A text that fits is returned unchanged. The same text
// gives the same pieces.
func Split(text string, limit int) []string {
	if surelyFits(text, limit) {
		return []string{text}
	}
	return split(text, telegram(limit))
}

// split cuts Markdown for a platform.
func split(text string, p platform) []string {
	blocks := p.blocks(text)
	if len(blocks) == 0 {
		blocks = p.prepared(plainBlocks(plainSource(text))) // shows nothing, a link definition for example: say it as it is
	}
	c := &partBuilder{platform: p}
	for _, b := range blocks {
		c.add(b)
	}
	c.flush()
	if len(c.parts) <= 1 {
		return []string{text}
	}
	out := make([]string, len(c.parts))
	for i, p := range c.parts {
		out[i] = source(p)
	}
	return out
}

// partBuilder collects blocks into pieces.
type partBuilder struct {
	platform platform
	parts    [][]block

	part     []block
	size     int
	entities int
}

func (c *partBuilder) flush() {
	if len(c.part) > 0 {
		c.parts = append(c.parts, c.part)
	}
	c.part, c.size, c.entities = nil, 0, 0
}

// room is what is left in the piece for another block.
func (c *partBuilder) room() int {
	if len(c.part) == 0 {
		return c.platform.limit
	}
	return c.platform.limit - c.size - c.platform.between
}

func (c *partBuilder) add(b block) {
	p := &c.platform
	size, entities := p.size(b), p.entitiesIn(b)
	if size <= c.room() && c.entities+entities <= p.entities {
		c.put(b, size, entities)
		return
	}
	if size <= p.limit && entities <= p.entities {
		c.flush()
		c.put(b, size, entities)
		return
	}
	if c.room() < p.limit/4 || c.entities > p.entities/2 {
		c.flush()
	}
	head, tail := p.cut(b, c.room(), p.entities-c.entities)
	if len(head.spans) > 0 {
		c.put(head, p.length(head), p.entitiesIn(head))
	}
	c.flush()
	if len(tail.spans) > 0 {
		c.add(tail) // shorter by the head, which is never empty in an empty piece
	}
}

func (c *partBuilder) put(b block, size, entities int) {
	if len(c.part) > 0 {
		c.size += c.platform.between
	}
	c.part = append(c.part, b)
	c.size += size
	c.entities += entities
}

// entitiesIn counts a block's styled runs as far as they matter: not those beyond the most that a message may have.
func (p *platform) entitiesIn(b block) int {
	n := 0
	if b.code || b.quote {
		n++
	}
	if p.entities == unbounded {
		return n
	}
	for _, s := range b.spans {
		if n += entitiesOf(s); n > p.entities {
			break
		}
	}
	return n
}

func entitiesOf(s span) int {
	n := 0
	if s.url != "" {
		n++
	}
	for _, t := range htmlTags {
		if s.style&t.style != 0 {
			n++
		}
	}
	return n
}

// cut takes a head of at most limit units and entities off a block.
func (p *platform) cut(b block, limit, entities int) (head, tail block) {
	at := p.findCut(b, limit, entities)
	head, tail = b, b
	head.spans, tail.spans = divide(b.spans, at)
	if b.code {
		trimCode(&head, &tail)
		return head, tail
	}
	head.spans, tail.spans = tidy(head.spans), tidyStart(tail.spans)
	return head, tail
}

// tidyStart tidies what was cut off a tidy text. Only its start can be untidy, and
// a long rest shall not be gone through at each cut.
func tidyStart(spans []span) []span {
	for i := range spans {
		if spans[i].text = strings.TrimLeft(spans[i].text, " \t\n"); spans[i].text != "" {
			return dropInvisible(spans[i:])
		}
	}
	return nil
}

// trimCode drops the line end at the cut: the fences bring their own.
func trimCode(head, tail *block) {
	h, t := head.spans[0].text, ""
	if len(tail.spans) > 0 {
		t = tail.spans[0].text
	}
	h, t = strings.TrimRight(h, "\n"), strings.TrimPrefix(t, "\n")
	head.spans, tail.spans = codeSpans(h), codeSpans(t)
}

// divide cuts spans at a place. The tail stays where it is: a long rest is not copied at each cut.
func divide(spans []span, at cutPlace) (head, tail []span) {
	head = append(head, spans[:at.span]...)
	if at.span >= len(spans) {
		return head, nil
	}
	tail = spans[at.span:]
	cut := tail[0]
	if at.offset > 0 {
		head = append(head, span{cut.text[:at.offset], cut.style, cut.url})
	}
	if at.offset == len(cut.text) {
		return head, tail[1:]
	}
	tail[0].text = cut.text[at.offset:]
	return head, tail
}
