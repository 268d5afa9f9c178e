package slack

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sluice/adapters"
)

// Bounds of what is read of one message's blocks and attachments.
const (
	maxBlockDepth = 12
	maxBlockBytes = 60_000
)

// object is a block or an element of one. Slack adds kinds of blocks, so only the names of fields are known here.
type object map[string]any

// blockText writes the text of blocks as [plain] reads it: with mentions, links and dates in Slack's markup.
type blockText struct{ *adapters.Lines }

func newBlockText() blockText { return blockText{adapters.NewLines(maxBlockBytes)} }

// blocksSource returns the text of a list of blocks.
func blocksSource(raw json.RawMessage) string {
	var all []object
	if json.Unmarshal(raw, &all) != nil {
		return "" // unreadable blocks: only the message's text counts
	}
	w := newBlockText()
	for _, block := range all {
		w.block(block, 0)
	}
	return w.String()
}

// block writes one block, on lines of its own.
func (w blockText) block(o object, depth int) {
	if depth > maxBlockDepth {
		w.Line(adapters.LeftOut)
		return
	}
	switch kind := o.str("type"); kind {
	case "rich_text":
		for _, e := range o.list("elements") {
			w.rich(e, depth+1)
		}
	case "table":
		w.table(o, depth+1)
	case "actions":
		w.labels(o.list("elements"))
	case "context":
		var parts []string
		for _, e := range o.list("elements") {
			parts = append(parts, e.shown())
		}
		w.Line(strings.Join(parts, " "))
	default:
		w.fields(o, depth)
	}
}

// fields writes the text of sections, headers, images, videos, inputs and unknown kinds.
func (w blockText) fields(o object, depth int) {
	w.Line(o.shown())
	w.Line(o.text("description"))
	if hint := o.text("label"); hint != "" {
		w.Line(hint)
	}
	for _, f := range o.list("fields") {
		w.Line(f.shown())
	}
	if accessory := o.child("accessory"); accessory != nil {
		if accessory.str("type") == "image" {
			w.Line(accessory.shown())
		} else {
			w.labels([]object{accessory})
		}
	}
	for _, e := range o.list("elements") {
		w.block(e, depth+1)
	}
}

// labels writes the labels of buttons and menus.
func (w blockText) labels(all []object) {
	var parts []string
	for _, o := range all {
		if label := first(o.text("text"), o.text("placeholder")); label != "" {
			if u := o.str("url"); u != "" {
				label = linked(u, label)
			}
			parts = append(parts, "["+label+"]")
		}
	}
	w.Line(strings.Join(parts, " "))
}

func (w blockText) table(o object, depth int) {
	rows, _ := o["rows"].([]any)
	for _, row := range rows {
		cells, _ := row.([]any)
		var texts []string
		for _, c := range cells {
			cell, _ := c.(map[string]any)
			inner := newBlockText()
			if object(cell).str("type") == "raw_text" {
				inner.Write(escape(object(cell).str("text")))
			} else {
				inner.block(cell, depth)
			}
			texts = append(texts, strings.ReplaceAll(inner.String(), "\n", " "))
		}
		w.Line(strings.Join(texts, " | "))
	}
}

// rich writes a part of a rich text.
func (w blockText) rich(o object, depth int) {
	if depth > maxBlockDepth {
		w.Line(adapters.LeftOut)
		return
	}
	switch o.str("type") {
	case "rich_text_list":
		indent := strings.Repeat("  ", min(int(o.num("indent")), maxBlockDepth))
		for i, e := range o.list("elements") {
			mark := "- "
			if o.str("style") == "ordered" {
				mark = fmt.Sprintf("%d. ", i+1+int(o.num("offset")))
			}
			w.Line(indent + mark + strings.ReplaceAll(inline(e.list("elements")), "\n", "\n"+indent+"  "))
		}
	case "rich_text_quote":
		w.Line("&gt; " + strings.ReplaceAll(strings.TrimRight(inline(o.list("elements")), "\n"), "\n", "\n&gt; "))
	case "rich_text_preformatted":
		w.Line("```\n" + strings.TrimRight(inline(o.list("elements")), "\n") + "\n```")
	default:
		w.Line(inline(o.list("elements")))
	}
}

// inline returns the text of a line's elements.
func inline(all []object) string {
	var b strings.Builder
	for _, o := range all {
		if b.Len() > maxBlockBytes {
			break // the whole is cut there
		}
		b.WriteString(o.inline())
	}
	return b.String()
}

func (o object) inline() string {
	switch o.str("type") {
	case "link":
		return linked(o.str("url"), escape(o.str("text")))
	case "user":
		return "<@" + escape(o.str("user_id")) + ">"
	case "channel":
		return "<#" + escape(o.str("channel_id")) + ">"
	case "usergroup":
		return "<!subteam^" + escape(o.str("usergroup_id")) + ">"
	case "broadcast":
		return "<!" + escape(o.str("range")) + ">"
	case "emoji":
		return ":" + escape(o.str("name")) + ":"
	case "color":
		return escape(o.str("value"))
	case "date":
		if fallback := o.str("fallback"); fallback != "" {
			return escape(fallback)
		}
		return time.Unix(int64(o.num("timestamp")), 0).UTC().Format(time.RFC3339)
	}
	return escape(o.str("text"))
}

// linked returns a link in Slack's markup, or only its text if the address is empty.
func linked(url, label string) string {
	url = strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C").Replace(url)
	switch {
	case url == "":
		return label
	case label == "":
		return "<" + url + ">"
	}
	return "<" + url + "|" + strings.ReplaceAll(label, "|", "/") + ">"
}

// shown returns the visible text of a text object, an image or a titled block.
func (o object) shown() string {
	text := first(o.text("text"), o.text("title"))
	if u := o.str("title_url"); u != "" {
		text = linked(u, text)
	}
	if alt := escape(o.str("alt_text")); alt != "" && alt != text {
		text = strings.TrimSpace(text + " (image: " + alt + ")")
	}
	return text
}

// text returns a field that is a string or a text object. Markup counts only in mrkdwn; other text is escaped.
func (o object) text(name string) string {
	inner := o.child(name)
	if inner == nil {
		if o.str("type") == "mrkdwn" || o.str("type") == "markdown" {
			return o.str(name)
		}
		return escapeRest(o.str(name))
	}
	if inner.str("type") == "mrkdwn" {
		return inner.str("text")
	}
	return escapeRest(inner.str("text"))
}

// escapeRest encodes the characters of Slack's markup. Slack itself encodes & < > in plain texts.
func escapeRest(text string) string {
	return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(text)
}

func (o object) str(name string) string {
	s, _ := o[name].(string)
	return s
}

func (o object) num(name string) float64 {
	n, _ := o[name].(float64)
	return max(0, min(n, 1<<40))
}

func (o object) child(name string) object {
	m, _ := o[name].(map[string]any)
	return m
}

func (o object) list(name string) []object {
	all, _ := o[name].([]any)
	var out []object
	for _, e := range all {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
