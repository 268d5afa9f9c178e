package markdown

import "strings"

// TelegramHTML renders the text as the HTML of Telegram's Bot API. The result is empty for a text that shows nothing.
func (t Text) TelegramHTML() string { return telegramHTML(t.blocks) }

func telegramHTML(blocks []block) string {
	var out strings.Builder
	for i, b := range blocks {
		opens := b.quote && (i == 0 || !blocks[i-1].quote)
		closes := b.quote && (i == len(blocks)-1 || !blocks[i+1].quote)
		if i > 0 {
			out.WriteString(separator)
		}
		if opens {
			out.WriteString("<blockquote>")
		}
		if b.code {
			telegramCode(&out, b)
		} else {
			for _, s := range b.spans {
				telegramSpan(&out, s)
			}
		}
		if closes {
			out.WriteString("</blockquote>")
		}
	}
	return out.String()
}

func telegramCode(out *strings.Builder, b block) {
	if b.lang == "" {
		out.WriteString("<pre>")
		htmlEscaper.WriteString(out, b.spans[0].text) //nolint:errcheck // a Builder never fails
		out.WriteString("</pre>")
		return
	}
	out.WriteString(`<pre><code class="language-` + b.lang + `">`)
	htmlEscaper.WriteString(out, b.spans[0].text) //nolint:errcheck // a Builder never fails
	out.WriteString("</code></pre>")
}

// htmlTags are opened in this order and closed in reverse.
var htmlTags = []struct {
	style style
	name  string
}{{bold, "b"}, {italic, "i"}, {underline, "u"}, {strike, "s"}, {code, "code"}}

func telegramSpan(out *strings.Builder, s span) {
	if s.url != "" {
		out.WriteString(`<a href="`)
		htmlEscaper.WriteString(out, s.url) //nolint:errcheck // a Builder never fails
		out.WriteString(`">`)
	}
	for _, t := range htmlTags {
		if s.style&t.style != 0 {
			out.WriteString("<" + t.name + ">")
		}
	}
	htmlEscaper.WriteString(out, s.text) //nolint:errcheck // a Builder never fails
	for i := len(htmlTags) - 1; i >= 0; i-- {
		if s.style&htmlTags[i].style != 0 {
			out.WriteString("</" + htmlTags[i].name + ">")
		}
	}
	if s.url != "" {
		out.WriteString("</a>")
	}
}

// htmlEscaper escapes the characters that Telegram requires, and quotes for attributes.
var htmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
