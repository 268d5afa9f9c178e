package telegram

import (
	"cmp"
	"encoding/json"

	"github.com/go-telegram/bot/models"

	"sluice/sessions"
)

// origins says whether a message was forwarded, and by whom it was written.
type origins struct {
	ForwardOrigin json.RawMessage `json:"forward_origin"`
	ForwardDate   int64           `json:"forward_date"` // the only field of servers before version 7.0 of the API
}

// origin is the original writer of a message. It is parsed separately: an unknown form must neither make the update
// unreadable nor turn forwarded words into the sender's own.
type origin struct {
	Type      string       `json:"type"` // user, hidden_user, chat or channel
	User      *models.User `json:"sender_user"`
	UserName  string       `json:"sender_user_name"`
	Sender    *models.Chat `json:"sender_chat"`
	Chat      *models.Chat `json:"chat"`
	Signature string       `json:"author_signature"`
}

// externalReply is a message of another chat that is being answered. It contains only the quoted part of the text.
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

// writer returns the original writer of a message, or an empty peer if it can't be read.
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

// passedOn reports whether the message's text is from somebody else: it was forwarded, chosen from the offers of
// another bot, or written by a bot in the sender's name.
func (m *message) passedOn() (sessions.Quotation, bool) {
	from, passed := m.forwarded()
	for _, bot := range []*models.User{m.ViaBot, m.BusinessBot} {
		if bot != nil && !passed {
			from, passed = peerOf(*bot), true
		}
	}
	return sessions.Quotation{Kind: sessions.QuoteForward, From: from}, passed
}

// answered returns what a message answers: the part that the sender marked, or the whole message. Without a text
// there is nothing to quote.
func answered(m *message) sessions.Quotation {
	q := sessions.Quotation{Kind: sessions.QuoteReply}
	if m.ExternalReply != nil {
		q.From = writer(m.ExternalReply.Origin)
	}
	r := realReply(m)
	if r != nil {
		q.From, q.Text = r.writer(), valid(cmp.Or(r.Text, r.Caption))
	}
	if m.Quote != nil && m.Quote.Text != "" {
		q.Text = valid(m.Quote.Text)
	}
	return q
}

// writer returns the writer of the message.
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

// fileNames returns the names of a forwarded message's files.
func fileNames(all []sessions.Attachment) []string {
	var names []string
	for _, at := range all {
		names = append(names, cmp.Or(at.Name, at.Kind))
	}
	return names
}
