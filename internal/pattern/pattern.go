// Package pattern provides regular expressions that are compiled at their first use. A program that compiles all of
// its expressions at the start starts later and uses more memory, even for those that its configuration never needs.
package pattern

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Pattern is a regular expression. It is safe for concurrent use.
type Pattern struct{ compiled func() *regexp.Regexp }

// inTest reports whether this is a test binary.
var inTest = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// New creates a pattern. An invalid expression panics at the first use; in a test, it panics at once.
func New(text string) *Pattern {
	p := &Pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
	if inTest {
		p.compiled()
	}
	return p
}

// Regexp returns the compiled expression.
func (p *Pattern) Regexp() *regexp.Regexp { return p.compiled() }

// MatchString reports whether the text contains a match.
func (p *Pattern) MatchString(text string) bool { return p.compiled().MatchString(text) }
