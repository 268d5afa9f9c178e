package slack

import (
	"cmp"
	"strings"
)

// dictionary finds the names behind ids; an unknown id has the empty name.
type dictionary struct {
	user    func(id string) string
	channel func(id string) string
}

// own stands for the bot's mention until that is removed. No text from Slack contains it.
const own = "\x00"

// plain converts Slack's mrkdwn to plain text: entities decoded, mentions of people, channels and everybody as names,
// links as "text (url)", mentions of the bot removed.
func plain(text, self string, d dictionary) (out string, mentioned bool) {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, own, ""), "\uFFFD")
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "<")
		b.WriteString(unescape(before))
		if !found {
			break
		}
		inside, after, closed := strings.Cut(rest, ">")
		if !closed {
			b.WriteString("<" + unescape(rest)) // Slack never leaves one open
			break
		}
		b.WriteString(reference(inside, self, d))
		text = after
	}
	if !strings.Contains(b.String(), own) {
		return strings.TrimSpace(b.String()), false
	}
	return withoutOwn(b.String()), true
}

// reference converts the markup between < and > to text.
func reference(inside, self string, d dictionary) string {
	target, label, _ := strings.Cut(inside, "|")
	label = unescape(label)
	switch {
	case strings.HasPrefix(target, "@"):
		id := target[1:]
		if id == self {
			return own
		}
		return "@" + cmp.Or(cmp.Or(d.user(id), label), id)
	case strings.HasPrefix(target, "#"):
		id := target[1:]
		return "#" + cmp.Or(cmp.Or(label, d.channel(id)), id)
	case strings.HasPrefix(target, "!"):
		return special(target[1:], label)
	}
	return link(unescape(target), label)
}

// special converts markup such as "<!here>", "<!subteam^S1|@group>" and "<!date^1392734382^…|fallback>".
func special(target, label string) string {
	name, _, isCall := strings.Cut(target, "^")
	if label != "" {
		return label
	}
	if isCall && name == "date" {
		return ""
	}
	return "@" + name
}

func link(target, label string) string {
	bare := target
	for _, scheme := range []string{"https://", "http://", "mailto:", "tel:"} {
		bare = strings.TrimPrefix(bare, scheme)
	}
	switch label {
	case "", target:
		return target
	case bare, strings.TrimSuffix(bare, "/"):
		return label // Slack's app made the link: the person wrote only the label
	}
	return label + " (" + target + ")"
}

// unescape decodes the three characters that Slack encodes, and no others.
func unescape(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}

// withoutOwn removes the bot's mention, without a double space in its place and without a leading comma.
func withoutOwn(text string) string {
	parts := strings.Split(text, own)
	out := parts[0]
	for _, part := range parts[1:] {
		if out == "" || strings.HasSuffix(out, " ") || strings.HasSuffix(out, "\n") {
			part = strings.TrimLeft(part, " ")
		}
		if strings.TrimSpace(out) == "" {
			part = strings.TrimLeft(part, " ,:\t")
		}
		out += part
	}
	return strings.TrimSpace(out)
}
