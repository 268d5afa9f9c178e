package schema

import (
	"encoding/json"
	"regexp/syntax"
)

const (
	// comparisonsMax is how many parts of a foreign schema one check compares with values at most, about a second's work.
	comparisonsMax = 2_000_000
	// matchingMax is how many steps the patterns of a foreign schema take at most in one check, about a second's work.
	matchingMax = 50_000_000
	// instructionsMax is how many instructions the patterns of a foreign schema come to at most.
	instructionsMax = 100_000
)

// cost is what a check takes at most, with each reference counted as often as it is followed.
type cost struct {
	parts        int // schemas and the values of their enums, each of which one value may be compared with
	instructions int // of patterns, each of which one character may take
}

// affordable reports whether arguments can be checked in about a second. A check can't be interrupted.
func (c cost) affordable(args json.RawMessage, value any) bool {
	return c.parts*valuesIn(value) <= comparisonsMax && c.instructions*len(args) <= matchingMax
}

// valuesIn counts the values in a JSON value. The name of a member is one too.
func valuesIn(value any) int {
	n := 1
	switch v := value.(type) {
	case map[string]any:
		for _, e := range v {
			n += 1 + valuesIn(e)
		}
	case []any:
		for _, e := range v {
			n += valuesIn(e)
		}
	}
	return n
}

// pattern counts a regular expression. The library refuses one that can't be read.
func (c *cost) pattern(text string) {
	if c.instructions > instructionsMax {
		return
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return
	}
	if program, err := syntax.Compile(parsed.Simplify()); err == nil {
		c.instructions += len(program.Inst)
	}
}
