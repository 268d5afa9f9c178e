package policy

import (
	"errors"

	"sluice/internal/glob"
)

// NameMatches reports whether one of the patterns is that of a name, as tools and agents have. A pattern is a name,
// in which a * stands for any characters, such as mcp_github_*.
func NameMatches(patterns []string, name string) bool { return glob.Names(patterns, name) }

// CheckNamePattern says what is wrong with a pattern for [NameMatches].
func CheckNamePattern(pattern string) error {
	if !glob.ValidName(pattern) {
		return errors.New("want a name, or a pattern with *")
	}
	return nil
}
