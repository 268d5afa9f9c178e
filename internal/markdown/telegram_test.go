package markdown_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/markdown"
	"sluice/internal/markdown/markdowntest"
)

func TestTelegramHTML(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"plain":                {"Hello, world!", "Hello, world!"},
		"plain paragraphs":     {"one\ntwo\n\n\n three", "one\ntwo\n\nthree"},
		"escapes":              {`1 < 2 & 3 > "2"`, "1 &lt; 2 &amp; 3 &gt; &quot;2&quot;"},
		"styles":               {"**b** *i* ~~s~~ `c` ***bi***", "<b>b</b> <i>i</i> <s>s</s> <code>c</code> <b><i>bi</i></b>"},
		"html styles":          {"<b>b</b> <u>u</u> x<br>y", "<b>b</b> <u>u</u> x\ny"},
		"other html":           {"a <kbd>x</kbd>", "a &lt;kbd&gt;x&lt;/kbd&gt;"},
		"html block":           {"<div>\nx & y\n</div>", "&lt;div&gt;\nx &amp; y\n&lt;/div&gt;"},
		"heading":              {"# Title *one*\ntext", "<b>Title </b><b><i>one</i></b>\n\ntext"},
		"link":                 {"[a **b**](https://example.org/?a=1&b=\"2\")", `<a href="https://example.org/?a=1&amp;b=&quot;2&quot;">a </a><a href="https://example.org/?a=1&amp;b=&quot;2&quot;"><b>b</b></a>`},
		"link nowhere":         {"[a](file.txt) [b](http://localhost:1) [c](mailto:x@y.org)", "a (file.txt) b (http://localhost:1) c (x@y.org)"},
		"autolink":             {"<https://example.org>", "https://example.org"},
		"image":                {"![cat](https://example.org/c.png) ![](https://example.org/d.png)", `<a href="https://example.org/c.png">cat</a> https://example.org/d.png`},
		"fence":                {"```go\nif a < b {\n}\n```", "<pre><code class=\"language-go\">if a &lt; b {\n}</code></pre>"},
		"fence, odd language":  {"```c\" onclick=x\nx\n```", "<pre><code class=\"language-c\">x</code></pre>"},
		"fence, open":          {"```\nx", "<pre>x</pre>"},
		"indented code":        {"a\n\n    x <y>", "a\n\n<pre>x &lt;y&gt;</pre>"},
		"list":                 {"- a\n- b\n  - c\n\n1. x\n2. y", "• a\n• b\n\u00a0\u00a0\u00a0• c\n\n1. x\n2. y"},
		"loose list":           {"3. a\n\n   more\n\n4. b", "3. a\nmore\n4. b"},
		"tasks":                {"- [x] done\n- [ ] open", "• ☑ done\n• ☐ open"},
		"quote":                {"> a\n> b\n>\n> > c\n\nd", "<blockquote>a\nb\n\nc</blockquote>\n\nd"},
		"code in quote":        {"> a\n> ```\n> x\n> ```\n> b", "<blockquote>a</blockquote>\n\n<pre>x</pre>\n\n<blockquote>b</blockquote>"},
		"rule":                 {"a\n\n---\n\nb", "a\n\n———\n\nb"},
		"table":                {"| a | bb |\n|---|---:|\n| **1** | 2 |", "<pre>a | bb\n--+---\n1 |  2</pre>"},
		"entities":             {`&lt;b&gt; \&amp; &copy; &nope; &#65;`, "&lt;b&gt; &amp;amp; © &amp;nope; A"},
		"invalid utf-8":        {"a\xff*b*", "a\uFFFD<i>b</i>"},
		"controls":             {"a\x00b\r\nc", "ab\nc"},
		"code drops styles":    {"**a `b` c**", "<b>a </b><code>b</code><b> c</b>"},
		"intraword underscore": {"snake_case_name", "snake_case_name"},
		"nothing":              {"[x]: https://example.org", ""},
		"nothing but spaces":   {"\u1680\u2003\u200b", ""},
		"emoji":                {"**👩‍👩‍👧** 🇩🇪", "<b>👩‍👩‍👧</b> 🇩🇪"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, markdown.TelegramHTML(c.in))
		})
	}
}

func TestStructured(t *testing.T) {
	t.Parallel()
	require.True(t, markdown.Structured("| a |\n|---|\n| b |"))
	require.True(t, markdown.Structured("- a\n  - b"))
	require.False(t, markdown.Structured("- a\n- **b**"))
}

func TestHostileTextsFit(t *testing.T) {
	t.Parallel()
	for _, h := range markdowntest.Texts() {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			const limit = 512
			for _, piece := range markdown.Split(h.Of(3000), limit) {
				require.LessOrEqual(t, markdown.Units(markdown.Plain(piece)), limit)
			}
		})
	}
}

// BenchmarkHostileTexts shows how the time to cut such texts grows with their length.
func BenchmarkHostileTexts(b *testing.B) {
	for _, h := range markdowntest.Texts() {
		for _, length := range []int{30_000, 120_000} {
			b.Run(fmt.Sprintf("%s/%d", h.Name, length), func(b *testing.B) {
				text := h.Of(length)
				for b.Loop() {
					markdown.Split(text, 4096)
				}
			})
		}
	}
}
