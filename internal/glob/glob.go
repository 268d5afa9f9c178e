// Package glob matches names and paths with patterns. Only this package uses the glob library.
//
// In a name, * matches any characters. In a path, * matches characters between two slashes, and ** also slashes.
// Everywhere ? matches one character, and [ab], [a-z] and [^a] match one of a set.
package glob

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	// lengthMax is the maximum length of a path pattern in bytes.
	lengthMax = 1000
	// choicesMax is the maximum number of patterns to which the choices of a path pattern expand. The library would
	// try them nested, in exponential time.
	choicesMax = 64
)

// Names reports whether one of the patterns, such as mcp_github_*, matches a name. The patterns must be valid, see
// [ValidName].
func Names(patterns []string, name string) bool {
	name = escapeSlashes(name)
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := doublestar.Match(namePattern(pattern), name)
		return ok && err == nil
	})
}

// ValidName reports whether a pattern can be used with [Names]. The standard library is stricter about [ ].
func ValidName(pattern string) bool {
	_, err := path.Match(pattern, "")
	return pattern != "" && err == nil
}

// Escape makes a text a pattern for [Names] that matches only this text.
func Escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}

// escapeSlashes makes slashes ordinary characters.
func escapeSlashes(text string) string { return strings.ReplaceAll(text, "/", "\x1f") }

// namePattern escapes syntax that only paths have: **, choices in braces, and ! for ^.
func namePattern(pattern string) string {
	pattern = escapeSlashes(pattern)
	if !strings.ContainsAny(pattern, "{}!") && !strings.Contains(pattern, "**") {
		return pattern
	}
	var out strings.Builder
	set, star := false, false // inside [ ]; after a *
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

// Path is a pattern for paths, see [ParsePath].
type Path struct {
	patterns []string
	last     bool
}

// ParsePath reads a pattern of at most 1,000 bytes. {a,b} matches one of several alternatives. A pattern without a
// slash is matched with the last element of a path.
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
