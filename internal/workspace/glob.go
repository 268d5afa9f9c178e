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
	depth := 0
	for i := 0; i < len(pattern); {
		rest := pattern[i:]
		text, n := `\`+rest[:1], 1
		switch c := rest[0]; {
		case strings.HasPrefix(rest, "**/"):
			text, n = `(?:[^/]+/)*`, 3
		case strings.HasPrefix(rest, "**"):
			text, n = `.*`, 2
		case c == '*':
			text = `[^/]*`
		case c == '?':
			text = `[^/]`
		case c == '[':
			if text, n = class(rest); n == 0 {
				return Glob{}, errors.New("a [ has no ]")
			}
		case c == '{':
			text, depth = `(?:`, depth+1
		case c == '}' && depth > 0:
			text, depth = `)`, depth-1
		case c == ',' && depth > 0:
			text = `|`
		case c >= 0x80 || c == '_' || c == ' ' || c == '/' || isWord(c):
			text = rest[:1]
		}
		out.WriteString(text)
		i += n
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
