package markdown

import (
	"math"
	"unicode/utf8"
)

// platform counts a message as a chat platform does. A count may be higher than the real cost, but never lower: a
// chunk that fits by these counts really fits.
type platform struct {
	limit    int // units per message
	entities int // styled runs per message
	between  int // units between two blocks

	prepare func(b block) block               // transforms a block first; may be nil
	length  func(b block) int                 // units of a whole block
	frame   func(b block) int                 // units around the text of a block: fences, a quote's mark
	open    func(s span) int                  // units around a span: marks and addresses
	char    func(b block, s span, r rune) int // units of one rune of a span
}

// unbounded is the limit of platforms that do not count styled runs.
const unbounded = math.MaxInt / 2

// telegram counts UTF-16 code units of the visible text: markup is free.
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

// size returns the length of a block. If the block can't fit, it returns a lower bound without rendering the block.
func (p *platform) size(b block) int {
	n := 0
	for _, s := range b.spans {
		if n += len(s.text) / utf8.UTFMax; n <= p.limit {
			n += utf8.RuneCountInString(s.text) - len(s.text)/utf8.UTFMax
		}
		if n > p.limit {
			return n // the rest is not counted again at each cut
		}
	}
	return p.length(b)
}

// blocks parses Markdown and prepares it for the platform.
func (p platform) blocks(text string) []block { return p.prepared(parse(text)) }

func (p platform) prepared(blocks []block) []block {
	if p.prepare != nil {
		for i, b := range blocks {
			blocks[i] = p.prepare(b)
		}
	}
	return blocks
}
