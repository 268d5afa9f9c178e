package slack

import (
	"cmp"
	"context"

	"sluice/sessions"
)

// quotations returns the texts of other people in a message's attachments.
func (n *reader) quotations(ctx context.Context, me *self, e *event) []sessions.Quotation {
	var all []sessions.Quotation
	names := n.names.dictionary(ctx) // one for all attachments, so that its limit counts for the whole message
	for i := range e.Attachments {
		at := &e.Attachments[i]
		if !at.others(e) {
			continue
		}
		q := sessions.Quotation{Kind: sessions.QuoteLink, From: n.quotedAuthor(ctx, at)}
		if at.Shared {
			q.Kind = sessions.QuoteForward
		}
		q.Text, _ = plain(at.content(), string(me.User), names)
		for _, f := range attachments(at.Files) {
			q.Files = append(q.Files, cmp.Or(f.Name, f.Kind))
		}
		all = append(all, q)
	}
	return all
}

func (n *reader) quotedAuthor(ctx context.Context, at *attached) sessions.Peer {
	if at.AuthorID != "" {
		return n.names.user(ctx, at.AuthorID)
	}
	return sessions.Peer{Name: valid(at.AuthorName)}
}

// allFiles returns the files of a message and of the messages that it shares.
func (e *event) allFiles() []file {
	all := e.Files
	for i := range e.Attachments {
		if at := &e.Attachments[i]; at.passedOn() {
			all = append(all[:len(all):len(all)], at.Files...)
		}
	}
	return all
}
