package schema

import (
	"encoding/json"
	"regexp/syntax"
)

const (
	// comparisonsMax limits the comparisons between parts of a foreign schema and values in one check, about a
	// second's work.
	comparisonsMax = 2_000_000
	// matchingMax limits the matching steps of a foreign schema's patterns in one check, about a second's work.
	matchingMax = 50_000_000
	// instructionsMax limits the total size of a foreign schema's patterns, in instructions.
	instructionsMax = 100_000
)

// cost is the maximum cost of a check, with each reference counted as often as it is followed.
type cost struct {
	parts        int // schemas and the values of their enums; a value may be compared with each of them
	instructions int // of patterns; a character may pass through each of them
}

// affordable reports whether arguments can be checked in about a second. A check can't be interrupted.
func (c cost) affordable(args json.RawMessage, value any) bool {
	return c.parts*valuesIn(value) <= comparisonsMax && c.instructions*len(args) <= matchingMax
}

// valuesIn counts the values in a JSON value, including the names of members.
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

// pattern counts a regular expression. The library rejects one that can't be parsed.
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
