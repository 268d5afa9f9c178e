package markdown

import (
	"strings"
	"unicode"
)

// cutPlace is a place between two runes of a block.
type cutPlace struct{ span, offset int }

// candidates are the last places of each sort where a block may be cut.
type candidates struct {
	line, sentence, space, safe cutPlace
	lineAt, sentenceAt, spaceAt int // units before them; 0 for none
	safeAt, hardAt              int
	hard                        cutPlace

	outer   cutPlace // neither in a link nor in code, but perhaps beside one
	outerAt int      // -1 for none
	inside  bool     // the safe place is in a link or code
}

// findCut is the best place with at most limit units and entities before it. It is
// the block's start if that begins with what fits only in a piece of its own.
func (p *platform) findCut(b block, limit, entities int) cutPlace {
	c := candidates{outerAt: -1}
	size, regional := p.frame(b), 0
	first := true
	var last rune
	if b.quote || b.code {
		entities--
	}
	for i, s := range b.spans {
		entities -= entitiesOf(s)
		if entities < 0 && !first {
			break
		}
		size += p.open(s)
		whole := s.url != "" || s.style&code != 0 // better not cut inside
		for at, r := range s.text {
			place := cutPlace{i, at}
			if !first {
				c.consider(place, size, last, r, whole && at > 0, regional, b.code)
			}
			if size += p.char(b, s, r); size > limit && !first {
				return c.best(limit, limit < p.limit)
			}
			regional = countRegional(regional, r)
			last, first = r, false
		}
	}
	return c.best(limit, limit < p.limit)
}

// consider notes the place between two runes.
func (c *candidates) consider(at cutPlace, size int, before, after rune, inside bool, regional int, isCode bool) {
	c.hard, c.hardAt = at, size
	if joined(before, after, regional) {
		return
	}
	c.safe, c.safeAt, c.inside = at, size, inside
	if !inside {
		c.outer, c.outerAt = at, size
	}
	switch {
	case inside:
	case before == '\n' || after == '\n':
		c.line, c.lineAt = at, size
	case isCode:
	case unicode.IsSpace(after) && strings.ContainsRune(".!?…。！？", before):
		c.sentence, c.sentenceAt = at, size
	case unicode.IsSpace(after):
		c.space, c.spaceAt = at, size
	}
}

// best prefers a line's end, then a sentence's, then a word's, as long as the
// piece does not become much too short by it. A link or code is kept whole even
// then, if it may have a piece of its own.
func (c *candidates) best(limit int, another bool) cutPlace {
	switch {
	case c.lineAt > limit/3:
		return c.line
	case c.sentenceAt > limit/3:
		return c.sentence
	case c.spaceAt > limit/8:
		return c.space
	case c.lineAt > limit/8:
		return c.line
	case c.inside && c.outerAt > 0:
		return c.beforeWhole()
	case c.inside && another:
		return cutPlace{}
	case c.safeAt > limit/2:
		return c.safe
	}
	return c.hard
}

// beforeWhole is the last place before a link or code.
func (c *candidates) beforeWhole() cutPlace {
	switch {
	case c.spaceAt > 0 && c.spaceAt >= c.lineAt:
		return c.space
	case c.lineAt > 0:
		return c.line
	}
	return c.outer
}

const (
	zeroJoiner    = '\u200d'
	firstSkinTone = 0x1F3FB
	lastSkinTone  = 0x1F3FF
	firstRegional = 0x1F1E6
	lastRegional  = 0x1F1FF
)

// joined: the runes show as one character, an emoji with its skin tone for example.
func joined(before, after rune, regional int) bool {
	switch {
	case before == zeroJoiner, after == zeroJoiner, unicode.Is(unicode.M, after):
		return true
	case after >= firstSkinTone && after <= lastSkinTone:
		return true
	}
	return regional%2 == 1 && after >= firstRegional && after <= lastRegional
}

func countRegional(n int, r rune) int {
	if r >= firstRegional && r <= lastRegional {
		return n + 1
	}
	return 0
}

// codeSpans is the content of a code block; nothing for one that would show nothing.
func codeSpans(content string) []span {
	if strings.TrimSpace(content) == "" {
		return nil
	}
	return []span{{text: content}}
}
