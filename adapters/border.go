package adapters

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/sessions"
)

// A platform can send any value. The functions here make each value storable: otherwise a row with a value that the
// database rejects could never be written.

// IDMax is the maximum length of a platform's id in bytes. The beginning and a hash replace a longer id.
const IDMax = 256

// latest is the latest plausible time of a message: a later one has another unit.
var latest = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// Text returns a storable text: valid UTF-8 without NULs.
func Text(text string) string {
	if utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// ID returns a storable id. Equal ids stay equal, and different ones stay different.
func ID[T ~string](id T) T {
	text := string(id)
	if fit := Text(text); len(text) <= IDMax && fit == text {
		return id
	}
	hash := sha256.Sum256([]byte(text))
	begin := Text(text)
	return T(strings.ToValidUTF8(begin[:min(len(begin), IDMax/2)], "") + "#" + hex.EncodeToString(hash[:16]))
}

// Moment returns the time of an event, or otherwise if the time is impossible: before 1970, in the far future, or
// missing. Milliseconds that are read as seconds give such a time.
func Moment(at, otherwise time.Time) time.Time {
	if at.Before(time.Unix(0, 0)) || !at.Before(latest) {
		return otherwise
	}
	return at.UTC()
}

// waitMax limits how long a platform can ask to wait at once. If the retry comes too early, the platform asks again.
const waitMax = 24 * time.Hour

// Wait converts the time that a platform asks to wait: at most a day, and 0 for a number that is not a time.
func Wait(n float64, unit time.Duration) time.Duration {
	switch d := n * float64(unit); {
	case d > float64(waitMax):
		return waitMax
	case d > 0:
		return time.Duration(d)
	}
	return 0
}

// NewReceipt creates the receipt of a message that a platform has accepted, with the platform's time, or now if that
// time is impossible.
func NewReceipt[T ~string](id T, at, now time.Time) Receipt {
	return Receipt{MessageID: sessions.PlatformMessageID(id), At: at}.Fit(now)
}

// Fit returns a storable receipt.
func (r Receipt) Fit(now time.Time) Receipt {
	r.MessageID, r.At = ID(r.MessageID), Moment(r.At, now)
	if r.Moved != nil {
		r.Moved = &Migration{From: ID(r.Moved.From), To: ID(r.Moved.To)}
	}
	return r
}

// Fit returns a storable event. It does not share slices and pointers with the original.
func (in Inbound) Fit(now time.Time) Inbound {
	in.Event, in.MessageID, in.SentAt = ID(in.Event), ID(in.MessageID), Moment(in.SentAt, now)
	in.Text, in.Quotations = Text(in.Text), fitAll(in.Quotations, fitQuotation)
	in.Route, in.Sender = fitRoute(in.Route), fitPeer(in.Sender)
	in.Roles = fitAll(in.Roles, ID[string])
	in.Attachments = fitAll(in.Attachments, fitAttachment)
	if in.Reaction != nil {
		reaction := *in.Reaction
		reaction.Emoji = ID(reaction.Emoji)
		in.Reaction = &reaction
	}
	if in.Migrated != nil {
		in.Migrated = &Migration{From: ID(in.Migrated.From), To: ID(in.Migrated.To)}
	}
	return in
}

func fitRoute(r sessions.Route) sessions.Route {
	r.Conversation, r.Thread, r.ReplyTo, r.Peer = ID(r.Conversation), ID(r.Thread), ID(r.ReplyTo), ID(r.Peer)
	r.Space, r.Title, r.Handle = ID(r.Space), Text(r.Title), Text(r.Handle)
	return r
}

func fitPeer(p sessions.Peer) sessions.Peer {
	p.ID, p.Name, p.Username = ID(p.ID), Text(p.Name), Text(p.Username)
	return p
}

func fitQuotation(q sessions.Quotation) sessions.Quotation {
	q.From, q.Text, q.Files = fitPeer(q.From), Text(q.Text), fitAll(q.Files, Text)
	return q
}

func fitAttachment(a sessions.Attachment) sessions.Attachment {
	a.Kind, a.Name, a.MIME, a.Ref = Text(a.Kind), Text(a.Name), Text(a.MIME), Text(a.Ref)
	return a
}

// fitAll returns a new slice with every value made storable; nil stays nil.
func fitAll[T any](values []T, fit func(T) T) []T {
	if values == nil {
		return nil
	}
	fits := make([]T, len(values))
	for i, v := range values {
		fits[i] = fit(v)
	}
	return fits
}
