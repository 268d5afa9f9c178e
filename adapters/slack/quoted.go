package slack

import (
	"context"
	"encoding/json"

	"sluice/sessions"
)

// attached is what stands below a message: what a bot says there, a message that was shared, or what Slack shows of a link.
type attached struct {
	Fallback   string          `json:"fallback"`
	Text       string          `json:"text"`
	FromURL    string          `json:"from_url"` // of what Slack shows of a link
	Shared     bool            `json:"is_share"`
	Unfurled   bool            `json:"is_msg_unfurl"` // the link to a message
	Blocks     json.RawMessage `json:"message_blocks"`
	AuthorID   string          `json:"author_id"`
	AuthorName string          `json:"author_name"`
	Files      []file          `json:"files"`
}

// passedOn reports whether it is a message of somebody that was shared, or whose link stands in the message.
func (at *attached) passedOn() bool { return at.Shared || at.Unfurled || present(at.Blocks) }

// others reports whether it holds the words of others than the sender.
func (at *attached) others() bool { return at.passedOn() || at.FromURL != "" }

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// quotations are what others say below a message.
func (a *Adapter) quotations(ctx context.Context, me *self, e *event) []sessions.Quotation {
	var all []sessions.Quotation
	for i := range e.Attachments {
		at := &e.Attachments[i]
		if !at.others() {
			continue
		}
		q := sessions.Quotation{Kind: sessions.QuoteLink, From: a.quotedAuthor(ctx, at)}
		if at.Shared {
			q.Kind = sessions.QuoteForward
		}
		q.Text, _ = plain(or(at.Text, at.Fallback), string(me.User), a.names.dictionary(ctx))
		for _, f := range attachments(at.Files) {
			q.Files = append(q.Files, or(f.Name, f.Kind))
		}
		all = append(all, q)
	}
	return all
}

func (a *Adapter) quotedAuthor(ctx context.Context, at *attached) sessions.Peer {
	if at.AuthorID != "" {
		return a.names.user(ctx, at.AuthorID)
	}
	return sessions.Peer{Name: valid(at.AuthorName)}
}

// allFiles are the files of a message and of those that it passes on.
func (e *event) allFiles() []file {
	all := e.Files
	for i := range e.Attachments {
		if at := &e.Attachments[i]; at.passedOn() {
			all = append(all[:len(all):len(all)], at.Files...)
		}
	}
	return all
}
