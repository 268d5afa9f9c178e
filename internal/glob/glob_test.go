package glob_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/glob"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for pattern, c := range map[string]struct{ yes, no string }{
		"exec":          {"exec", "exec2"},
		"*":             {"a/b.c", ""},
		"mcp_github_*":  {"mcp_github_create_issue", "mcp_gitlab_x"},
		"*.example.org": {"a.b.example.org", "example.org"},
		"a**":           {"abc", "b"},
		"a*/c":          {"a/b/c", "a/b"},
		"?x":            {"/x", "x"},
		"[ab]":          {"a", "c"},
		"[^ab]":         {"c", "a"},
		"[!a]":          {"!", "b"}, // ! excludes only in paths
		"{a,b}":         {"{a,b}", "a"},
		`\*`:            {"*", "a"},
		`\**`:           {"*a", "a"},
	} {
		require.True(t, glob.Names([]string{"none", pattern}, c.yes), pattern)
		if c.no != "" {
			require.False(t, glob.Names([]string{"none", pattern}, c.no), pattern)
		}
		require.True(t, glob.ValidName(pattern), pattern)
	}
	for _, bad := range []string{"", "[", "a[", "[]", `\`, "[a-]"} {
		require.False(t, glob.ValidName(bad), bad)
	}
	require.False(t, glob.Names(nil, "a"))
}

// A name without slashes matches what it matches by the standard library, which decided before.
func TestNamesMatchAsByTheStandardLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*", "**", "?", "[ab]", "[!a]", "[^b]", "[a-c]", "{", "}", ",", "{a,b}", "ü", `\`, "]", "-", "[", "!"}), 1, 9).Draw(t, "pattern"), "")
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "ü", "{", "}", ",", `\`, "]", "!"}), 1, 8).Draw(t, "name"), "")
		want, err := path.Match(pattern, name)
		require.Equal(t, err == nil, glob.ValidName(pattern))
		if err == nil {
			require.Equal(t, want, glob.Names([]string{pattern}, name))
		}
	})
}

func TestPaths(t *testing.T) {
	t.Parallel()
	for pattern, c := range map[string]struct{ yes, no []string }{
		"*.go":         {[]string{"a/b.go", "b.go"}, []string{"a/b.goo", "a.go/b"}},
		"src/*.go":     {[]string{"src/b.go"}, []string{"src/a/b.go"}},
		"src/**/*.go":  {[]string{"src/a/c/b.go", "src/b.go"}, []string{"lib/b.go"}},
		"**/b.go":      {[]string{"b.go", "a/c/b.go"}, []string{"ab.go"}},
		"src/**":       {[]string{"src/a", "src/a/b"}, []string{"srcs/a", "src"}},
		"src/***":      {[]string{"src/a", "src/a/b"}, []string{"src"}},
		"src/**.go":    {[]string{"src/a.go", "src/a/b.go"}, []string{"a.go"}},
		"a**b/c":       {[]string{"ab/c", "axb/c", "a/x/y/b/c"}, []string{"b/c"}},
		"a?.{ts,tsx}":  {[]string{"x/ab.tsx", "ab.ts"}, []string{"x/abc.ts", "ab.js"}},
		"{a,b{c,d}}/x": {[]string{"a/x", "bd/x"}, []string{"b/x"}},
		"{,a}x":        {[]string{"x", "ax"}, []string{"bx"}},
		"{a/b,c}/*":    {[]string{"a/b/x", "c/x"}, []string{"a/x"}},
		"[a-c]x":       {[]string{"bx"}, []string{"dx"}},
		"[!a-c]x":      {[]string{"dx"}, []string{"bx"}},
		"a[^b]c/d":     {[]string{"axc/d"}, []string{"a/c/d", "abc/d"}},
		"[{]x":         {[]string{"{x"}, []string{"x"}},
		`a\*`:          {[]string{`a\b`}, []string{"a*"}}, // a backslash is one
		"a},b":         {[]string{"a},b"}, []string{"a"}},
		"a+(b)|c.$^":   {[]string{"a+(b)|c.$^"}, []string{"ab"}},
		"ü?":           {[]string{"üß"}, []string{"ü"}},
	} {
		p, err := glob.ParsePath(pattern)
		require.NoError(t, err, pattern)
		for _, name := range c.yes {
			require.True(t, p.Match(name), "%s %s", pattern, name)
		}
		for _, name := range c.no {
			require.False(t, p.Match(name), "%s %s", pattern, name)
		}
	}
	for bad, want := range map[string]string{
		"": "1 to 1000", strings.Repeat("x", 1001): "1 to 1000", "[": "no ]", "[]": "no ]", "{a": "no }", "{a,[}": "no ]", "[z-a]": "not a pattern", "x{[a-cz-a]}": "not a pattern",
		strings.Repeat("{a,b}", 7): "more than 64", strings.Repeat("{a,b}", 160): "more than 64", strings.Repeat("x**", 7): "more than 64", strings.Repeat("{", 500) + strings.Repeat("}", 500): "",
	} {
		_, err := glob.ParsePath(bad)
		if want == "" {
			require.NoError(t, err, bad)
			continue
		}
		require.ErrorContains(t, err, want, bad)
	}
}

// A pattern comes from a model: whatever it is, matching ends soon. These take some milliseconds, or hours.
func TestNoPatternTakesLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 4000)
	for _, pattern := range []string{
		strings.Repeat("*a", 400) + "b", strings.Repeat("**/", 300) + "b", "{a,a}{a,a}{a,a}{a,a}{a,a}" + strings.Repeat("*a", 300) + "b", strings.Repeat("**/*a/", 150) + "b",
	} {
		p, err := glob.ParsePath(pattern)
		require.NoError(t, err)
		require.False(t, p.Match(long))
		require.False(t, p.Match(strings.Repeat("a/", 2000)+"a"))
	}
}

func FuzzParsePath(f *testing.F) {
	f.Add("src/**/*.{go,mod}", "src/a.go")
	f.Add("[!a]", "b")
	f.Fuzz(func(_ *testing.T, pattern, name string) {
		if p, err := glob.ParsePath(pattern); err == nil {
			p.Match(name)
		}
	})
}
