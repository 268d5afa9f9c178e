package markdown

import "strings"

// maxEntities is the maximum number of styled runs in a message; platforms drop the styles of those beyond a hundred.
const maxEntities = 90

// certainlyFits reports whether a text is certainly one chunk, so that it need not be parsed. This is true for most
// answers. A rendered text is longer than its source only where a line or a list item begins: by its indent, its
// marker and a space between blocks. Tables are not counted, and a text has at most half as many styled runs as
// marks.
func certainlyFits(text string, limit int) bool {
	const grows = 32 // units added at a place where a line or an item may begin: the deepest indent has 24
	size, marks := len(text), 0
	if size > limit {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '|':
			return false
		case strings.IndexByte("*_~`[<#!:", c) >= 0: // includes bare addresses and headings
			marks++
		}
		if beginsLine(text, i) {
			size += grows
		}
	}
	return size <= limit && marks < maxEntities
}

// beginsLine reports whether a rendered line or list item may begin at a byte of a text: at a line end, or at the
// marker of an item or a quote.
func beginsLine(text string, i int) bool {
	switch text[i] {
	case '\n', '\r', '>':
		return true
	case '-', '+', '*', '.', ')':
		return i+1 == len(text) || strings.IndexByte(" \t\n\r", text[i+1]) >= 0
	}
	return false
}

// Split cuts Markdown into chunks of at most limit UTF-16 code units each, counted after rendering. It prefers to cut
// between paragraphs, then lines, sentences, words. A fence or style that spans a cut is closed and opened again; a
// link is cut only if it alone is longer than a chunk. Only white space at the cuts is lost. A text that fits is
// returned unchanged. The same text always gives the same chunks.
func Split(text string, limit int) []string {
	if certainlyFits(text, limit) {
		return []string{text}
	}
	return split(text, telegram(limit))
}

// split cuts Markdown for a platform.
func split(text string, p platform) []string {
	blocks := p.blocks(text)
	if len(blocks) == 0 {
		blocks = p.prepared(plainBlocks(plainSource(text))) // the text shows nothing, for example only a link definition: send its source
	}
	c := &chunkBuilder{platform: p}
	for _, b := range blocks {
		c.add(b)
	}
	c.flush()
	if len(c.chunks) <= 1 {
		return []string{text}
	}
	out := make([]string, len(c.chunks))
	for i, p := range c.chunks {
		out[i] = source(p)
	}
	return out
}

// chunkBuilder collects blocks into chunks.
type chunkBuilder struct {
	platform platform
	chunks   [][]block

	chunk    []block
	size     int
	entities int
}

func (c *chunkBuilder) flush() {
	if len(c.chunk) > 0 {
		c.chunks = append(c.chunks, c.chunk)
	}
	c.chunk, c.size, c.entities = nil, 0, 0
}

// room returns the units left in the chunk for another block.
func (c *chunkBuilder) room() int {
	if len(c.chunk) == 0 {
		return c.platform.limit
	}
	return c.platform.limit - c.size - c.platform.between
}

func (c *chunkBuilder) add(b block) {
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
		c.add(tail) // shorter by the head, which is never empty in an empty chunk
	}
}

func (c *chunkBuilder) put(b block, size, entities int) {
	if len(c.chunk) > 0 {
		c.size += c.platform.between
	}
	c.chunk = append(c.chunk, b)
	c.size += size
	c.entities += entities
}

// entitiesIn counts a block's styled runs, up to the maximum of a message.
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

// tidyStart tidies the rest of a tidy text after a cut. Only its start can be untidy, and a long rest must not be
// processed at each cut.
func tidyStart(spans []span) []span {
	for i := range spans {
		if spans[i].text = strings.TrimLeft(spans[i].text, " \t\n"); spans[i].text != "" {
			return dropInvisible(spans[i:])
		}
	}
	return nil
}

// trimCode drops the line end at the cut: the fences add their own.
func trimCode(head, tail *block) {
	h, t := head.spans[0].text, ""
	if len(tail.spans) > 0 {
		t = tail.spans[0].text
	}
	h, t = strings.TrimRight(h, "\n"), strings.TrimPrefix(t, "\n")
	head.spans, tail.spans = codeSpans(h), codeSpans(t)
}

// divide cuts spans at a position. The tail is not copied, because it can be long.
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
