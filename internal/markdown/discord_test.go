package markdown_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sluice/internal/markdown"
)

func TestDiscord(t *testing.T) {
	t.Parallel()
	const zw = "\u200b"
	for name, c := range map[string]struct{ in, want string }{
		"plain":             {"Hello, world!", "Hello, world!"},
		"everyone":          {"@everyone @here", "@everyone @here"},
		"mentions by hand":  {"\\<@123> \\<#4> \\<:a:5>", `\<@123> \<#4> \<:a:5>`},
		"styles":            {"**b** *i* ~~s~~ `c` ***bi*** <u>u</u>", "**b** *i* ~~s~~ `c` **_bi_** __u__"},
		"heading":           {"# Title *one*\ntext", "**Title** **_one_**\n\ntext"},
		"beside each other": {"**a***b*", "**a**" + zw + "*b*"},
		"two lines":         {"**a\nb**", "**a**\n**b**"},
		"literal marks":     {`snake_case 2 * 3 \|\|x\|\| \~ \\`, `snake\_case 2 \* 3 \|\|x\|\| \~ \\`},
		"line starts":       {"\\# a\n\\> b\n\\- c - d\n\\-# e", `\# a` + "\n" + `\> b` + "\n" + `\- c - d` + "\n" + `\-# e`},
		"code":              {"``a`b`` ``` x``y ```", "`` a`b `` `` x`" + zw + "`y ``"},
		"link":              {"[a **b**](https://example.org/?a=1&b=(2))", "[a](https://example.org/?a=1&b=%282%29) **[b](https://example.org/?a=1&b=%282%29)**"},
		"link in capitals":  {"[a](HTTPS://example.org/B)", "[a](https://example.org/B)"},
		"link with bracket": {"[a\\]b](https://example.org)", "a]b (<https://example.org>)"},
		"link in disguise":  {"[https://bank.example](https://evil.example)", `<https://bank.example> (<https://evil.example>)`},
		"address in a link": {"[**see https://bank.example now**](https://evil.example)", "**see** <https://bank.example> **now** (<https://evil.example>)"},
		"link without site": {"[**://x**](https://example.org)", `**\://x (<https://example.org>)**`},
		"link by hand":      {`\[a](https://example.org)`, `\[a](<https://example.org>)`},
		"bare address":      {"see **https://example.org/a_b_c?d**.", "see <https://example.org/a_b_c?d>."},
		"half an address":   {"http://!!", `http\://!!`},
		"fence":             {"```go\nif a < b {\n}\n```", "```go\nif a < b {\n}\n```"},
		"fence in a fence":  {"````\n```\nx\n```\n````", "```\n`" + zw + "`" + zw + "`\nx\n`" + zw + "`" + zw + "`\n```"},
		"list":              {"- a\n- b\n  - c", "• a\n• b\n\u00a0\u00a0\u00a0• c"},
		"quote":             {"> a\n> b\n>\n> > c\n\nd", "> a\n> b\n> \n> c\n\nd"},
		"table":             {"| a | bb |\n|---|---:|\n| **1** | 2 |", "```\na | bb\n--+---\n1 |  2\n```"},
		"nothing":           {"[x]: https://example.org", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, markdown.Discord(c.in))
		})
	}
}

func TestSplitDiscordFits(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"&", "<b>**x** ", "*_~`", "word ", "> q\n", "```go\nx&y\n```\n\n", "[a](https://example.org/?a&b) ", "https://a.b/c ", "😀"} {
		for _, p := range markdown.SplitDiscord(strings.Repeat(unit, 20_000/len(unit))) {
			require.LessOrEqual(t, utf8.RuneCountInString(markdown.Discord(p)), 2000, "%q", unit)
		}
	}
}
