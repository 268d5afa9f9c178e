package policy

import (
	"errors"
	"path"
	"slices"
)

// NameMatches reports whether one of the patterns is that of a name, as tools and agents have. A pattern is a name,
// in which a * stands for any characters, such as mcp_github_*.
func NameMatches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// CheckNamePattern says what is wrong with a pattern for [NameMatches].
func CheckNamePattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return errors.New("want a name, or a pattern with *")
	}
	return nil
}
