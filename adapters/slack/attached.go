package slack

import (
	"cmp"
	"encoding/json"
	"strings"

	"sluice/adapters"
)

// attached is an attachment below a message: text of a bot, a shared message, or the preview of a link.
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

// passedOn reports whether the attachment is another message that was shared or linked.
func (at *attached) passedOn() bool { return at.Shared || at.Unfurled || present(at.Blocks) }

// others reports whether the attachment has text of others than the sender. People do not write attachments: Slack and
// other apps add them.
func (at *attached) others(e *event) bool { return at.passedOn() || at.FromURL != "" || e.BotID == "" }

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// content returns the text of the attachment in Slack's markup, without its writer. The fallback counts only without other text.
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

// source returns all text that a bot writes in the attachment.
func (at *attached) source() string {
	return joined(escapeRest(at.AuthorName), at.content(), at.Footer)
}

// messageBlocks returns the text of the blocks of shared messages.
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

// source returns the whole text of a message in Slack's markup. For a person, that is the text: the blocks repeat it.
// For a bot, Slack shows the blocks instead of the text, and the attachments below.
func (e *event) source() string {
	if e.BotID == "" {
		return cmp.Or(e.Text, blocksSource(e.Blocks))
	}
	texts := []string{cmp.Or(blocksSource(e.Blocks), e.Text)}
	for i := range e.Attachments {
		if at := &e.Attachments[i]; !at.others(e) {
			texts = append(texts, at.source())
		}
	}
	return joined(texts...)
}

// joined puts each text on its own line, up to a limit.
func joined(texts ...string) string { return adapters.JoinLines(maxBlockBytes, texts...) }
