package adapters

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/sessions"
)

// Platforms may send any value. The functions here make each value storable: a row with a value that a database rejects
// could never be written.

// IDMax is how long a platform's id may be, in bytes. A longer one is replaced by its beginning and a hash.
const IDMax = 256

// latest bounds the times of messages: a later one is a number in another unit.
var latest = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// Text is a text as it can be stored: valid UTF-8, its NULs left out.
func Text(text string) string {
	if utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// ID is a platform's id as the gateway keeps it. The same id always gives the same one, and different ones different ones.
func ID[T ~string](id T) T {
	text := string(id)
	if fit := Text(text); len(text) <= IDMax && fit == text {
		return id
	}
	hash := sha256.Sum256([]byte(text))
	begin := Text(text)
	return T(strings.ToValidUTF8(begin[:min(len(begin), IDMax/2)], "") + "#" + hex.EncodeToString(hash[:16]))
}

// Moment is the time that a platform gives for an event, or otherwise if that time is impossible: before 1970, in the far
// future, or missing. Milliseconds that are read as seconds give such a time.
func Moment(at, otherwise time.Time) time.Time {
	if at.Before(time.Unix(0, 0)) || !at.Before(latest) {
		return otherwise
	}
	return at.UTC()
}

// waitMax is how long a platform can ask to wait at once. The platform repeats the request if a call comes back too early.
const waitMax = 24 * time.Hour

// Wait is how long a platform asks to wait, in some unit: a day at most, and 0 for a number that is not a time.
func Wait(n float64, unit time.Duration) time.Duration {
	switch d := n * float64(unit); {
	case d > float64(waitMax):
		return waitMax
	case d > 0:
		return time.Duration(d)
	}
	return 0
}

// NewReceipt makes the receipt of a message that a platform has accepted, with the platform's time. Now replaces an
// impossible time.
func NewReceipt[T ~string](id T, at, now time.Time) Receipt {
	return Receipt{MessageID: sessions.PlatformMessageID(id), At: at}.Fit(now)
}

// Fit is the receipt as it can be stored.
func (r Receipt) Fit(now time.Time) Receipt {
	r.MessageID, r.At = ID(r.MessageID), Moment(r.At, now)
	if r.Moved != nil {
		r.Moved = &Migration{From: ID(r.Moved.From), To: ID(r.Moved.To)}
	}
	return r
}

// Fit is the event as it can be stored. Its slices and pointers are its own.
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

// fitAll is a slice of its own with each of its values made fit; nil stays nil.
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
