package workspace

import (
	"errors"
	"path"
	"regexp"
	"strings"
)

// Glob is a pattern of paths: * stands for anything within a name, ? for one
// character of it, ** for any folders, [ab] and [a-z] for one of some, {a,b} for one of two. A
// pattern without a slash is matched with the last name of a path alone.
type Glob struct {
	expression *regexp.Regexp
	base       bool
}

// ParseGlob reads a pattern of at most 1,000 bytes.
func ParseGlob(pattern string) (Glob, error) {
	if pattern == "" || len(pattern) > 1000 {
		return Glob{}, errors.New("want 1 to 1000 bytes")
	}
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, mounted+"/"), "./")
	var out strings.Builder
	out.WriteString(`^`)
	depth := 0 // of { }
	for rest := pattern; rest != ""; {
		text, n := wildcard(rest)
		switch {
		case n > 0:
		case rest[0] == '[':
			return Glob{}, errors.New("a [ has no ]")
		default:
			text, n = braced(rest, &depth), 1
		}
		out.WriteString(text)
		rest = rest[n:]
	}
	if depth > 0 {
		return Glob{}, errors.New("a { has no }")
	}
	expression, err := regexp.Compile(out.String() + `$`)
	if err != nil {
		return Glob{}, errors.New("it is not a pattern: see [ ] and { }")
	}
	return Glob{expression, !strings.Contains(pattern, "/")}, nil
}

// wildcard reads what stands for other characters; n is how long it is, 0 where there is none.
func wildcard(text string) (expression string, n int) {
	switch {
	case strings.HasPrefix(text, "**/"):
		return `(?:[^/]+/)*`, 3
	case strings.HasPrefix(text, "**"):
		return `.*`, 2
	case text[0] == '*':
		return `[^/]*`, 1
	case text[0] == '?':
		return `[^/]`, 1
	case text[0] == '[':
		return class(text)
	}
	return "", 0
}

// braced is one byte as an expression: { and } are groups, and a comma in one is a choice.
func braced(text string, depth *int) string {
	switch c := text[0]; {
	case c == '{':
		*depth++
		return `(?:`
	case c == '}' && *depth > 0:
		*depth--
		return `)`
	case c == ',' && *depth > 0:
		return `|`
	case c >= 0x80 || isWord(c):
		return text[:1]
	}
	return `\` + text[:1]
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// class reads a [set]; n is how long it is, 0 where it has no end.
func class(text string) (set string, n int) {
	end := strings.IndexByte(text, ']')
	if end < 2 {
		return "", 0
	}
	inner := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `&`, `\&`, `~`, `\~`).Replace(text[1:end])
	if inner[0] == '!' || inner[0] == '^' {
		return `[^/` + inner[1:] + `]`, end + 1
	}
	return `[` + inner + `]`, end + 1
}

// Match reports whether a path matches.
func (g Glob) Match(name string) bool {
	if g.base {
		name = path.Base(name)
	}
	return g.expression.MatchString(name)
}
