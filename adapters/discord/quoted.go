package discord

import (
	"cmp"

	"sluice/sessions"
)

// quotations returns the messages that a message answers and forwards.
func (ms *messages) quotations(guild string, m *message, self *user) []sessions.Quotation {
	var all []sessions.Quotation
	if r := m.Reply; r != nil {
		for _, q := range ms.written(guild, r, self) {
			if q.Text != "" { // a file alone can't be quoted: it does not come with the answer
				all = append(all, sessions.Quotation{Kind: sessions.QuoteReply, From: q.From, Text: q.Text})
			}
		}
	}
	all = append(all, ms.forwarded(guild, m, self)...)
	return append(all, m.previews(reader{places: ms.lookup.places, guild: guild, self: self, message: m})...)
}

// written returns the content of an answered message, including the messages that it forwards.
func (ms *messages) written(guild string, m *message, self *user) []sessions.Quotation {
	q := sessions.Quotation{}
	q.Text, _ = reader{places: ms.lookup.places, guild: guild, self: self, message: m}.read(m.shown())
	if m.Author != nil {
		q.From = peer(m.Author, m.Member)
	}
	return append([]sessions.Quotation{q}, ms.forwarded(guild, m, self)...)
}

// forwarded returns the messages that a message forwards. Discord does not name their writers.
func (ms *messages) forwarded(guild string, m *message, self *user) []sessions.Quotation {
	var all []sessions.Quotation
	for i := range m.Snapshots {
		f := &m.Snapshots[i].Message
		q := sessions.Quotation{Kind: sessions.QuoteForward}
		q.Text, _ = reader{places: ms.lookup.places, guild: guild, self: self, message: f}.read(f.shown())
		for _, at := range attachments(f) {
			q.Files = append(q.Files, cmp.Or(at.Name, at.Kind))
		}
		all = append(all, q)
	}
	return all
}
