package markdown

import (
	"math"
	"unicode/utf8"
)

// platform is what a chat platform counts of one message. The counts of parts
// may be more than what the parts cost in a given place, never less: a piece that
// is counted to fit does fit.
type platform struct {
	limit    int // units of one message
	entities int // styled runs of one message
	between  int // units between two blocks

	prepare func(b block) block               // what the platform makes of a block first; may be nil
	length  func(b block) int                 // units of a whole block
	frame   func(b block) int                 // units around the text of a block: fences, a quote's mark
	open    func(s span) int                  // units around a span: marks and addresses
	char    func(b block, s span, r rune) int // units of one rune of a span
}

// unbounded is for platforms that count no styled runs.
const unbounded = math.MaxInt / 2

// telegram counts UTF-16 code units of what is shown: markup is free.
func telegram(limit int) platform {
	return platform{
		limit: limit, entities: maxEntities, between: len(separator),
		length: func(b block) int {
			n := 0
			for _, s := range b.spans {
				n += units(s.text)
			}
			return n
		},
		frame: func(block) int { return 0 },
		open:  func(span) int { return 0 },
		char:  func(_ block, _ span, r rune) int { return unitsOf(r) },
	}
}

// size is the length of a block. One that surely does not fit is not rendered to
// know by how much.
func (p *platform) size(b block) int {
	n := 0
	for _, s := range b.spans {
		if n += len(s.text) / utf8.UTFMax; n <= p.limit {
			n += utf8.RuneCountInString(s.text) - len(s.text)/utf8.UTFMax
		}
		if n > p.limit {
			return n // what follows is not counted at each cut
		}
	}
	return p.length(b)
}

// blocks reads Markdown as the platform shows it.
func (p platform) blocks(text string) []block { return p.prepared(parse(text)) }

func (p platform) prepared(blocks []block) []block {
	if p.prepare != nil {
		for i, b := range blocks {
			blocks[i] = p.prepare(b)
		}
	}
	return blocks
}
