package glob

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

var (
	errTooMany = errors.New("its choices come to more than 64 patterns: use fewer { } and **")
	errSet     = errors.New("a [ has no ]")
	errPattern = errors.New("it is not a pattern: see [ ] and { }")
)

// choices expands the { } of a pattern into patterns without them.
func choices(pattern string) (plain []string, err error) {
	for left := []string{pattern}; len(left) > 0; {
		next := left[len(left)-1]
		left = left[:len(left)-1]
		before, alternatives, after, err := firstChoice(next)
		switch {
		case err != nil:
			return nil, err
		case alternatives == nil:
			plain = append(plain, next)
		}
		for _, a := range alternatives {
			left = append(left, before+a+after)
		}
		if len(plain)+len(left) > choicesMax {
			return nil, errTooMany
		}
	}
	return plain, nil
}

// firstChoice splits a pattern at its first { }. For a pattern without { }, alternatives is nil.
func firstChoice(pattern string) (before string, alternatives []string, after string, err error) {
	depth, begin, from := 0, 0, 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '[':
			n := set(pattern[i:])
			if n == 0 {
				return "", nil, "", errSet
			}
			i += n - 1
		case c == '{':
			if depth++; depth == 1 {
				begin, from = i, i+1
			}
		case c == ',' && depth == 1:
			alternatives, from = append(alternatives, pattern[from:i]), i+1
		case c == '}' && depth > 0:
			if depth--; depth == 0 {
				return pattern[:begin], append(alternatives, pattern[from:i]), pattern[i+1:], nil
			}
		}
	}
	if depth > 0 {
		return "", nil, "", errors.New("a { has no }")
	}
	return "", nil, "", nil
}

// set returns the length of the [ ] at the start of a text, or 0 if it is unterminated.
func set(text string) int {
	if end := strings.IndexByte(text, ']'); end >= 2 {
		return end + 1
	}
	return 0
}

// translate writes a pattern without { } in the library's syntax. The library distinguishes ** from * only between
// slashes, so elsewhere the result is two patterns.
func translate(pattern string) ([]string, error) {
	out := []string{""}
	add := func(text string) {
		for i := range out {
			out[i] += text
		}
	}
	for i, n := 0, 1; i < len(pattern); i, n = i+n, 1 {
		rest, begins := pattern[i:], i == 0 || pattern[i-1] == '/'
		switch {
		case strings.HasPrefix(rest, "**/") && begins:
			n = 3
			add("**/")
		case rest == "**" && begins:
			n = 2
			add("**/*")
		case strings.HasPrefix(rest, "**"):
			n = 2
			across := append([]string{}, out...)
			add("*")
			for _, a := range across {
				out = append(out, a+"*/**/*")
			}
		case rest[0] == '[':
			n = set(rest)
			text, err := translateSet(rest[:n])
			if err != nil {
				return nil, err
			}
			add(text)
		case rest[0] == '\\', rest[0] == '}':
			add(`\` + rest[:1])
		default:
			add(rest[:1])
		}
		if len(out) > choicesMax {
			return nil, errTooMany
		}
	}
	for _, o := range out {
		if !doublestar.ValidatePattern(o) {
			return nil, errPattern
		}
	}
	return out, nil
}

// translateSet writes a [ ] in the library's syntax. A negated set excludes slashes too.
func translateSet(text string) (string, error) {
	inner, begin := text[1:len(text)-1], "["
	if inner[0] == '!' || inner[0] == '^' {
		inner, begin = inner[1:], "[^/"
	}
	for i := 1; i+1 < len(inner); i++ {
		low, _ := utf8.DecodeLastRuneInString(inner[:i])
		if high, _ := utf8.DecodeRuneInString(inner[i+1:]); inner[i] == '-' && low > high {
			return "", errPattern
		}
	}
	return begin + strings.ReplaceAll(inner, `\`, `\\`) + "]", nil
}
