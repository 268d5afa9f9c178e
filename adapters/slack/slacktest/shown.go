package slacktest

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Plain is what people read of a text in mrkdwn: without markup, entities decoded.
func Plain(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(text, "```") {
		if i%2 == 1 {
			b.WriteString(strings.Trim(part, "\n"))
			continue
		}
		b.WriteString(inline(part))
	}
	return decode(b.String())
}

var (
	linked = regexp.MustCompile(`<([^<>|]+)(?:\|([^<>]*))?>`)
	styled = []*regexp.Regexp{
		regexp.MustCompile(`(^|[^\pL\pN])\*([^\s*](?:[^*\n]*[^\s*])?)\*`),
		regexp.MustCompile(`(^|[^\pL\pN])_([^\s_](?:[^_\n]*[^\s_])?)_`),
		regexp.MustCompile(`(^|[^\pL\pN])~([^\s~](?:[^~\n]*[^\s~])?)~`),
		regexp.MustCompile("()`([^`\n]+)`"),
	}
)

func inline(text string) string {
	text = linked.ReplaceAllStringFunc(text, func(s string) string {
		m := linked.FindStringSubmatch(s)
		return orElse(m[2], m[1])
	})
	for _, style := range styled {
		text = style.ReplaceAllString(text, "$1$2")
	}
	return text
}

func decode(text string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}

// plainText is what people read of a message. With blocks, those show and the text does not.
func (m *message) plainText() string {
	var blocks []block
	if json.Unmarshal(m.blocks, &blocks) == nil && len(blocks) > 0 {
		var parts []string
		for _, b := range blocks {
			switch {
			case b.Type == "section" && b.Text.Type == "mrkdwn":
				parts = append(parts, Plain(b.Text.Text))
			case b.Type == "section":
				parts = append(parts, b.Text.Text)
			}
		}
		return strings.Join(parts, "\n")
	}
	if m.plain {
		return decode(m.text)
	}
	return Plain(m.text)
}

// buttons are the labels, actions and values of a message's buttons.
func (m *message) buttons() (labels, actions, values []string) {
	var blocks []block
	if json.Unmarshal(m.blocks, &blocks) != nil {
		return nil, nil, nil
	}
	for _, b := range blocks {
		for _, e := range b.Elements {
			labels, actions, values = append(labels, e.Text.Text), append(actions, e.Action), append(values, e.Value)
		}
	}
	return labels, actions, values
}
