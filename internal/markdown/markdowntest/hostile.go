// Package markdowntest provides texts that make Markdown parsers slow.
package markdowntest

import (
	"fmt"
	"strings"
)

// Hostile is a family of texts that differ only in length.
type Hostile struct {
	Name string
	// Of returns the text of about n bytes. It ends with [Mark].
	Of func(n int) string
}

// Mark is the last word of each text, so that a test can check that nothing was cut off.
const Mark = "lastword"

// Texts returns all families. Most repeat a unit; the others have two parts that multiply or grow.
func Texts() []Hostile {
	var all []Hostile
	for _, unit := range units {
		all = append(all, family(fmt.Sprintf("%q", unit), func(n int) string { return strings.Repeat(unit, n/len(unit)) }))
	}
	for name, of := range built {
		all = append(all, family(name, of))
	}
	return all
}

func family(name string, of func(n int) string) Hostile {
	return Hostile{Name: name, Of: func(n int) string { return of(n) + "\n\n" + Mark }}
}

// units are texts that are hostile when repeated.
var units = []string{
	// quotes and lists
	">", "> ", ">a\n", "- ", "1. ", "- + * ", "> - ", "- a\n ", "* * a\n", "- a\n\n", strings.Repeat(">", 50) + "a\n",
	// code
	"`", "` ", "`a``b```c ", "`` a ", "`\n\na``\n", "```\n", "~~~ a\n``` b\n", "\t", "    a\n",
	// links and images
	"[", "![", "[a]", "[a]\n", "[a](", "[a](<b", "[a](b \"", "[a](b (", "[a](b()", "[a][", "[a](b) ", "![[]()", "[*a", "!", "]",
	// definitions
	"[a]: b\n", "[a]: b \"\n", "[]: x\n", "[a]:\n", "[a\n",
	// styles
	"*", "_", "**a ", "*a_", "_a", "a**b", "~~", "~~a~ ", "x*_", "*a* ", "***a** ", "*a `b _c ",
	// HTML
	"<", "<a ", "<a b='", "<a b='\n", "<b>", "</b", "<!--", "a<!--", "a<?", "a<![CDATA[", "a<!A", "<a@", "<http:", "<div>\n```\n", "<br>",
	// tables
	"|", "|a", "|a\n", "|-\n", "|a|\n|-|\n", "a|b\n-|-\nc|d\n",
	// entities, escapes, addresses
	"&", "&amp", "&#1", "&amp;", "\\", "\\*", "https://a.b ", "http://", "https://,,", "a@", "a.",
	// lines
	"\n", " ", "a\n", "a\n===\n", "#", "# ", "* ", "-", "word ", "a \u200b", "\u200b", "é", "> - *a [b `c <d **e\n", "> - *a [b `c <d **e ",
}

var built = map[string]func(n int) string{
	"one line of lists, then blank lines": func(n int) string { return strings.Repeat("- ", n/4) + "x" + strings.Repeat("\n", n/2) },
	"one line of quotes, then lines":      func(n int) string { return strings.Repeat(">", n/4) + "a\n" + strings.Repeat("b\n", 3*n/8) },
	"a stair of lists":                    func(n int) string { return growing(n, func(i int) string { return strings.Repeat("  ", i) + "- a\n" }) },
	"backtick runs, each longer":          func(n int) string { return growing(n, func(i int) string { return strings.Repeat("`", i+1) + " " }) },
	"brackets that close":                 func(n int) string { return strings.Repeat("[", n/2) + strings.Repeat("]", n/2) },
	"links in links":                      func(n int) string { return strings.Repeat("[", n/6) + "a" + strings.Repeat("](b)", n/6) },
	"images in images":                    func(n int) string { return strings.Repeat("![", n/6) + "a" + strings.Repeat("](b)", n/6) },
	"few brackets around many marks": func(n int) string {
		return strings.Repeat("[", 400) + strings.Repeat("*a_ ", n/4) + strings.Repeat("]", 400)
	},
	"asterisks that open, others close": func(n int) string { return strings.Repeat("*a ", n/6) + strings.Repeat("b_ ", n/6) },
	"emphasis in emphasis":              func(n int) string { return strings.Repeat("*a **a ", n/14) + strings.Repeat("b** b* ", n/14) },
	"attributes without end":            func(n int) string { return "<a" + strings.Repeat(" x", n/2) },
	"definitions, each another":         func(n int) string { return growing(n, func(i int) string { return fmt.Sprintf("[a%d]: b\n", i) }) },
	"a definition used often":           func(n int) string { return "[a]: b\n\n" + strings.Repeat("[a]\n", n/4) },
	"a long definition used often": func(n int) string {
		return "[a]: https://a.b/" + strings.Repeat("b", n/2) + "\n\n" + strings.Repeat("[a] ", n/8)
	},
	"a definition of some length, often": func(n int) string {
		return "[a]: https://a.b/" + strings.Repeat("b", 900) + "\n\n" + strings.Repeat("[a] ", n/4)
	},
	"a table of many columns":               func(n int) string { return table(n/4, 0) },
	"a table of many columns and few cells": func(n int) string { return table(n/6, n/6) },
	"a table of some columns and few cells": func(n int) string { return table(60, n/2) },
	"a table with one wide cell": func(n int) string {
		return "|a|b|\n|-|-|\n|" + strings.Repeat("x", n/2) + "|y|\n" + strings.Repeat("|a|b|\n", n/12)
	},
	"a table with escaped bars in code": func(n int) string { return "|a|\n|-|\n" + strings.Repeat("|`\\|`|\n", n/7) },
	"a fence around hostile text":       func(n int) string { return "```\n" + strings.Repeat("[[[[\n", n/5) + "```" },
	"a fence in a comment":              func(n int) string { return "<!--\n```\n-->\n" + strings.Repeat("[a](", n/4) },
	"almost a rule":                     func(n int) string { return strings.Repeat("-", n) + "x" },
}

// table returns a table with many columns, and rows with one cell each.
func table(columns, rows int) string {
	return strings.Repeat("|a", columns) + "|\n" + strings.Repeat("|-", columns) + "|\n" + strings.Repeat("a\n", rows)
}

func growing(n int, line func(i int) string) string {
	var out strings.Builder
	for i := 0; out.Len() < n; i++ {
		out.WriteString(line(i))
	}
	return out.String()
}
