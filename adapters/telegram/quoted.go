package telegram

import (
	"encoding/json"

	"github.com/go-telegram/bot/models"

	"sluice/sessions"
)

// origins say whether a message was forwarded, and from whom.
type origins struct {
	ForwardOrigin json.RawMessage `json:"forward_origin"`
	ForwardDate   int64           `json:"forward_date"` // all that a server older than version 7.0 of the API says of it here
}

// origin is who wrote a message first. It is read apart from the update: one of a new shape must neither make the update
// unreadable nor the forwarded words the sender's own.
type origin struct {
	Type      string       `json:"type"` // user, hidden_user, chat or channel
	User      *models.User `json:"sender_user"`
	UserName  string       `json:"sender_user_name"`
	Sender    *models.Chat `json:"sender_chat"`
	Chat      *models.Chat `json:"chat"`
	Signature string       `json:"author_signature"`
}

// externalReply is a message of another chat that a message answers. Of its text only the part comes that is quoted.
type externalReply struct {
	Origin json.RawMessage `json:"origin"`
}

// forwarded reports whether a message was forwarded, and from whom if known.
func (o origins) forwarded() (sessions.Peer, bool) {
	if len(o.ForwardOrigin) > 0 && string(o.ForwardOrigin) != "null" {
		return writer(o.ForwardOrigin), true
	}
	return sessions.Peer{}, o.ForwardDate != 0
}

// writer is who wrote a message first; empty where that can't be read.
func writer(raw json.RawMessage) sessions.Peer {
	var o origin
	if json.Unmarshal(raw, &o) != nil {
		return sessions.Peer{}
	}
	switch {
	case o.User != nil:
		return peerOf(*o.User)
	case o.Sender != nil:
		return signed(peerOfChat(*o.Sender), o.Signature)
	case o.Chat != nil:
		return signed(peerOfChat(*o.Chat), o.Signature)
	}
	return sessions.Peer{Name: valid(o.UserName)}
}

func signed(p sessions.Peer, signature string) sessions.Peer {
	if signature != "" {
		p.Name += ", " + valid(signature)
	}
	return p
}

// passedOn reports whether somebody else wrote what a message says: it was forwarded, chosen from what another bot offered, or
// written by a bot in the sender's name.
func (m *message) passedOn() (sessions.Quotation, bool) {
	from, passed := m.forwarded()
	for _, bot := range []*models.User{m.ViaBot, m.BusinessBot} {
		if bot != nil && !passed {
			from, passed = peerOf(*bot), true
		}
	}
	return sessions.Quotation{Kind: sessions.QuoteForward, From: from}, passed
}

// answered is what a message answers: the part that its sender marked, or the whole message. Without a text there is nothing to quote.
func answered(m *message) sessions.Quotation {
	q := sessions.Quotation{Kind: sessions.QuoteReply}
	if m.ExternalReply != nil {
		q.From = writer(m.ExternalReply.Origin)
	}
	r := realReply(m)
	if r != nil {
		q.From, q.Text = r.writer(), valid(or(r.Text, r.Caption))
	}
	if m.Quote != nil && m.Quote.Text != "" {
		q.Text = valid(m.Quote.Text)
	}
	return q
}

// writer is whose words the message is.
func (r *repliedMessage) writer() sessions.Peer {
	from, forwarded := r.forwarded()
	switch {
	case forwarded:
		return from
	case r.SenderChat != nil:
		return peerOfChat(*r.SenderChat)
	case r.From != nil:
		return peerOf(*r.From)
	}
	return sessions.Peer{}
}

// fileNames name the files of a forwarded message.
func fileNames(all []sessions.Attachment) []string {
	var names []string
	for _, at := range all {
		names = append(names, or(at.Name, at.Kind))
	}
	return names
}
