// Package glob matches names and paths with patterns. It is the only use of the library behind it.
//
// A name has no parts: * stands for any characters. In a path, * stands for characters between two slashes, and ** also for
// slashes. Everywhere ? is one character, and [ab], [a-z] and [^a] are one of some.
package glob

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	// lengthMax is the length of a path pattern in bytes, at most.
	lengthMax = 1000
	// choicesMax is how many patterns the choices of one path pattern come to, at most: the library would try them one
	// within the other, and take exponential time.
	choicesMax = 64
)

// Names reports whether one of the patterns is that of a name, such as mcp_github_*. They have to be valid, see [ValidName].
func Names(patterns []string, name string) bool {
	name = noParts(name)
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := doublestar.Match(namePattern(pattern), name)
		return ok && err == nil
	})
}

// ValidName reports whether a pattern can be used with [Names]. The standard library is stricter here about [ ].
func ValidName(pattern string) bool {
	_, err := path.Match(pattern, "")
	return pattern != "" && err == nil
}

// noParts lets a slash be a character like others.
func noParts(text string) string { return strings.ReplaceAll(text, "/", "\x1f") }

// namePattern takes away what only paths have: parts, **, choices in braces, and ! for ^.
func namePattern(pattern string) string {
	pattern = noParts(pattern)
	if !strings.ContainsAny(pattern, "{}!") && !strings.Contains(pattern, "**") {
		return pattern
	}
	var out strings.Builder
	set, star := false, false // within [ ], behind a *
	for i := 0; i < len(pattern); i++ {
		again := star && pattern[i] == '*'
		if star = pattern[i] == '*' && !set; again {
			continue
		}
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			out.WriteByte(c)
			i++
		case c == '[' && !set:
			set = true
			if i+1 < len(pattern) && pattern[i+1] == '!' {
				out.WriteString(`[\`)
				i++
			}
		case c == ']':
			set = false
		case c == '{', c == '}':
			out.WriteByte('\\')
		}
		out.WriteByte(pattern[i])
	}
	return out.String()
}

// Path is a pattern of paths, see [ParsePath].
type Path struct {
	patterns []string
	last     bool
}

// ParsePath reads a pattern of at most 1,000 bytes. Also {a,b} stands for one of some. A pattern without a slash is matched
// with the last name of a path.
func ParsePath(pattern string) (Path, error) {
	if pattern == "" || len(pattern) > lengthMax {
		return Path{}, errors.New("want 1 to 1000 bytes")
	}
	for strings.Contains(pattern, "***") {
		pattern = strings.ReplaceAll(pattern, "***", "**")
	}
	p := Path{last: !strings.Contains(pattern, "/")}
	plain, err := choices(pattern)
	if err != nil {
		return Path{}, err
	}
	for _, one := range plain {
		translated, err := translate(one)
		if err != nil {
			return Path{}, err
		}
		if p.patterns = append(p.patterns, translated...); len(p.patterns) > choicesMax {
			return Path{}, errTooMany
		}
	}
	return p, nil
}

// Match reports whether a path matches.
func (p Path) Match(name string) bool {
	if p.last {
		name = path.Base(name)
	}
	return slices.ContainsFunc(p.patterns, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, name) })
}
