package slack

import (
	"encoding/json"
	"strings"

	"sluice/adapters"
)

// attached is what stands below a message: what a bot says there, a message that was shared, or what Slack shows of a link.
type attached struct {
	Fallback   string          `json:"fallback"`
	Pretext    string          `json:"pretext"`
	Title      string          `json:"title"`
	TitleLink  string          `json:"title_link"`
	Text       string          `json:"text"`
	Fields     []field         `json:"fields"`
	Footer     string          `json:"footer"`
	Own        json.RawMessage `json:"blocks"`
	FromURL    string          `json:"from_url"` // of what Slack shows of a link
	Shared     bool            `json:"is_share"`
	Unfurled   bool            `json:"is_msg_unfurl"` // the link to a message
	Blocks     json.RawMessage `json:"message_blocks"`
	AuthorID   string          `json:"author_id"`
	AuthorName string          `json:"author_name"`
	Files      []file          `json:"files"`
}

// field is a titled value.
type field struct {
	Title string `json:"title"`
	Value string `json:"value"`
}

// passedOn reports whether it is a message of somebody that was shared, or whose link stands in the message.
func (at *attached) passedOn() bool { return at.Shared || at.Unfurled || present(at.Blocks) }

// others reports whether it holds the words of others than the sender. A person writes none of what stands below a message:
// Slack and other apps put it there.
func (at *attached) others(e *event) bool { return at.passedOn() || at.FromURL != "" || e.BotID == "" }

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// content is all that it says, in Slack's markup, without who says it; the fallback only where there is nothing else.
func (at *attached) content() string {
	lines := []string{at.Pretext, linked(at.TitleLink, at.Title)}
	body := at.Text
	if body == "" {
		body = messageBlocks(at.Blocks)
	}
	lines = append(lines, body)
	if own := blocksSource(at.Own); own != body {
		lines = append(lines, own)
	}
	for _, f := range at.Fields {
		lines = append(lines, strings.TrimPrefix(f.Title+": "+f.Value, ": "))
	}
	if text := joined(lines...); text != "" {
		return text
	}
	return at.Fallback
}

// source is all that a bot says in it.
func (at *attached) source() string {
	return joined(escapeRest(at.AuthorName), at.content(), at.Footer)
}

// messageBlocks is what the blocks of shared messages show.
func messageBlocks(raw json.RawMessage) string {
	var all []struct {
		Message struct {
			Blocks json.RawMessage `json:"blocks"`
		} `json:"message"`
	}
	if json.Unmarshal(raw, &all) != nil {
		return "" // missing, or of an unknown shape
	}
	var texts []string
	for _, m := range all {
		texts = append(texts, blocksSource(m.Message.Blocks))
	}
	return joined(texts...)
}

// source is all that the sender of a message says, in Slack's markup. A person's text is all of it: the blocks beside it say the same.
// Slack shows a bot's blocks in place of its text, and its attachments below.
func (e *event) source() string {
	if e.BotID == "" {
		return or(e.Text, blocksSource(e.Blocks))
	}
	texts := []string{or(blocksSource(e.Blocks), e.Text)}
	for i := range e.Attachments {
		if at := &e.Attachments[i]; !at.others(e) {
			texts = append(texts, at.source())
		}
	}
	return joined(texts...)
}

// joined are texts in lines of their own, bounded.
func joined(texts ...string) string { return adapters.JoinLines(maxBlockBytes, texts...) }
