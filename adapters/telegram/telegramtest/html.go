package telegramtest

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf16"
)

// htmlTags are the elements that Telegram's HTML knows, with the attributes they may have.
var htmlTags = map[string][]string{
	"b": nil, "strong": nil, "i": nil, "em": nil, "u": nil, "ins": nil, "s": nil, "strike": nil, "del": nil,
	"tg-spoiler": nil, "span": {"class"}, "a": {"href"}, "tg-emoji": {"emoji-id"}, "tg-time": {"unix", "format"},
	"code": {"class"}, "pre": {"language"}, "blockquote": {"expandable"},
}

// plainText is what people see of a text, or why Telegram would refuse its markup.
func plainText(text, mode string) (string, error) {
	switch strings.ToLower(mode) {
	case "":
		return strings.TrimSpace(text), nil
	case "html":
		plain, err := parseHTML(text)
		return strings.TrimSpace(plain), err
	}
	return "", fmt.Errorf("parse mode %q is not known to this server", mode)
}

// parseHTML checks a text as Telegram's HTML and gives it without markup.
func parseHTML(text string) (string, error) {
	if !strings.ContainsAny(text, "<&") {
		return text, nil
	}
	var out strings.Builder
	var open []string
	for i := 0; i < len(text); {
		next := strings.IndexAny(text[i:], "<&")
		if next < 0 {
			out.WriteString(text[i:])
			break
		}
		out.WriteString(text[i : i+next])
		i += next
		if text[i] == '&' {
			i += writeEntity(&out, text[i:])
			continue
		}
		end := strings.IndexByte(text[i:], '>')
		if end < 0 {
			return "", fmt.Errorf("unclosed start tag at byte offset %d", i)
		}
		var err error
		if open, err = tag(open, text[i+1:i+end], i); err != nil {
			return "", err
		}
		i += end + 1
	}
	if len(open) > 0 {
		return "", fmt.Errorf("can't find end tag corresponding to start tag %q", open[len(open)-1])
	}
	return out.String(), nil
}

// writeEntity writes what stands for an entity and gives the length that it took.
// Telegram knows four names and numbers; anything else stays as it is.
func writeEntity(out *strings.Builder, text string) int {
	end := strings.IndexByte(text[:min(len(text), 12)], ';')
	if end > 0 {
		entity := text[:end+1]
		known := entity == "&lt;" || entity == "&gt;" || entity == "&amp;" || entity == "&quot;" || strings.HasPrefix(entity, "&#")
		if plain := html.UnescapeString(entity); known && plain != entity {
			out.WriteString(plain)
			return len(entity)
		}
	}
	out.WriteByte('&')
	return 1
}

// tag opens or closes one element on the stack of open ones.
func tag(open []string, body string, at int) ([]string, error) {
	if name, ok := strings.CutPrefix(body, "/"); ok {
		name = strings.TrimSpace(strings.ToLower(name))
		if len(open) == 0 {
			return nil, fmt.Errorf("unexpected end tag at byte offset %d", at)
		}
		if last := open[len(open)-1]; last != name {
			return nil, fmt.Errorf("unmatched end tag at byte offset %d, expected %q, found %q", at, "</"+last+">", "</"+name+">")
		}
		return open[:len(open)-1], nil
	}
	name, attributes, _ := strings.Cut(body, " ")
	name = strings.ToLower(name)
	allowed, ok := htmlTags[name]
	if !ok {
		return nil, fmt.Errorf("unsupported start tag %q at byte offset %d", name, at)
	}
	if err := checkAttributes(name, attributes, allowed); err != nil {
		return nil, fmt.Errorf("%w at byte offset %d", err, at)
	}
	return append(open, name), nil
}

// checkAttributes is stricter than Telegram, which ignores attributes that it does not know.
func checkAttributes(name, attributes string, allowed []string) error {
	for attributes = strings.TrimSpace(attributes); attributes != ""; attributes = strings.TrimSpace(attributes) {
		key, rest, quoted := strings.Cut(attributes, `="`)
		if !quoted {
			key, rest = attributes, ""
		}
		if !slices.Contains(allowed, key) {
			return fmt.Errorf("unsupported attribute %q of tag %q", key, name)
		}
		if !quoted {
			return nil
		}
		_, after, closed := strings.Cut(rest, `"`)
		if !closed {
			return fmt.Errorf("unclosed attribute value of tag %q", name)
		}
		attributes = after
	}
	return nil
}

// utf16Len is the length as Telegram counts it.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}
