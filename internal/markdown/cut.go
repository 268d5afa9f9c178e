package markdown

import (
	"strings"
	"unicode"
)

// cutPlace is a position between two runes of a block.
type cutPlace struct{ span, offset int }

// candidates has the last position of each kind at which a block can be cut.
type candidates struct {
	line, sentence, space, safe cutPlace
	lineAt, sentenceAt, spaceAt int // units before them; 0: no such position
	safeAt                      int
	hard                        cutPlace

	outer   cutPlace // neither in a link nor in code, but possibly next to one
	outerAt int      // -1: no such position
	inside  bool     // the safe position is inside a link or code
}

// findCut returns the best position with at most limit units and entities before it. It returns the block's start if
// the block begins with something that fits only in a chunk of its own.
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
		whole := s.url != "" || s.style&code != 0 // avoid cuts inside
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

// consider records a position between two runes.
func (c *candidates) consider(at cutPlace, size int, before, after rune, inside bool, regional int, isCode bool) {
	c.hard = at
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

// best prefers the end of a line, then of a sentence, then of a word, unless that makes the chunk much too short.
// Even then it keeps a link or code whole if that can have a chunk of its own.
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

// beforeWhole returns the last position before a link or code.
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

// joined reports whether two runes are shown as one character, for example an emoji with its skin tone.
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

// codeSpans returns the content of a code block, or nothing if it would show nothing.
func codeSpans(content string) []span {
	if strings.TrimSpace(content) == "" {
		return nil
	}
	return []span{{text: content}}
}
