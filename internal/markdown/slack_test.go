package markdown_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/markdown"
)

func TestSlackMrkdwn(t *testing.T) {
	t.Parallel()
	const zw = "\u200b"
	for name, c := range map[string]struct{ in, want string }{
		"plain":              {"Hello, world!", "Hello, world!"},
		"escapes":            {`1 < 2 & 3 > "2"`, `1 &lt; 2 &amp; 3 &gt; "2"`},
		"entities":           {`&lt;!channel&gt; &amp;amp;`, "&lt;!channel&gt; &amp;amp;"},
		"mention of all":     {"<!channel> <!here|x> <@U123> <#C1|y>", "&lt;!channel&gt; &lt;!here|x&gt; &lt;@U123&gt; &lt;#C1|y&gt;"},
		"mention in code":    {"`<!channel>`\n\n```\n<@U1> & co\n```", "`&lt;!channel&gt;`\n\n```\n&lt;@U1&gt; &amp; co\n```"},
		"link by hand":       {"\\<http://evil.example|bank\\>", "&lt;<http://evil.example>|bank&gt;"},
		"mention as address": {"[x](!channel) [y](<@U1>)", "x (!channel) y (@U1)"},
		"styles":             {"**b** *i* ~~s~~ `c` ***bi***", "*b* _i_ ~s~ `c` *_bi_*"},
		"underline":          {"<u>u</u>", "u"},
		"heading":            {"# Title *one*\ntext", "*Title* *_one_*\n\ntext"},
		"inside a word":      {"foo**bar**baz, (**x**).", "foo" + zw + "*bar*" + zw + "baz, (*x*)."},
		"beside each other":  {"**a***b*", "*a*" + zw + "_b_"},
		"two lines":          {"**a\nb**", "*a*\n*b*"},
		"literal marks":      {`snake_case 2 * 3, 2*3 \*no\* \_x\_`, "snake_case 2 * 3, 2*3 *" + zw + "no" + zw + "* _" + zw + "x" + zw + "_" + zw},
		"backticks":          {"\\`x\\` ``a`b``", "ˋxˋ aˋb"},
		"link":               {"[a **b**](https://example.org/?a=1&b=2)", "<https://example.org/?a=1&amp;b=2|a> *<https://example.org/?a=1&amp;b=2|b>*"},
		"link with bar":      {"[a|b>](https://example.org/a|b)", "<https://example.org/a%7Cb|a|b&gt;>"},
		"bare address":       {"see **https://example.org/a_b_c?d&e**.", "see <https://example.org/a_b_c?d&amp;e>."},
		"fence":              {"```go\nif a < b {\n}\n```", "```\nif a &lt; b {\n}\n```"},
		"fence in a fence":   {"````\n```\nx\n```\n````", "```\n`" + zw + "`" + zw + "`\nx\n`" + zw + "`" + zw + "`\n```"},
		"list":               {"- a\n- b\n  - c", "• a\n• b\n\u00a0\u00a0\u00a0• c"},
		"quote":              {"> a\n> b\n>\n> > c\n\nd", "> a\n> b\n> \n> c\n\nd"},
		"no quote":           {"\\> a", zw + "&gt; a"},
		"nothing":            {"[x]: https://example.org", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, markdown.SlackMrkdwn(c.in))
		})
	}
}

func TestSplitSlackFits(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"&", "<b>**x** ", "*_~`", "word ", "> q\n", "```\nx&y\n```\n\n", "[a](https://example.org/?a&b) ", "https://a.b/c ", "😀"} {
		for _, p := range markdown.SplitSlack(strings.Repeat(unit, 20_000/len(unit))) {
			require.LessOrEqual(t, markdown.Units(markdown.SlackMrkdwn(p)), 4000, "%q", unit)
		}
	}
}
