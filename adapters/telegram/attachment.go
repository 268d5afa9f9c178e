package telegram

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-telegram/bot/models"

	"sluice/sessions"
)

// attachments returns the files of a message. Ref is Telegram's file id. A location and a contact have no file; their
// name has all the information.
func attachments(m *message) []sessions.Attachment {
	var out []sessions.Attachment
	add := func(a sessions.Attachment) {
		a.Name, a.MIME = valid(a.Name), valid(a.MIME)
		out = append(out, a)
	}
	if len(m.Photo) > 0 {
		p := largest(m.Photo)
		add(sessions.Attachment{Kind: "photo", Size: int64(p.FileSize), Ref: p.FileID, MIME: "image/jpeg"})
	}
	switch {
	case m.Animation != nil: // the message also has a Document with the same file
		add(sessions.Attachment{Kind: "video", Name: m.Animation.FileName, MIME: m.Animation.MimeType, Size: m.Animation.FileSize, Ref: m.Animation.FileID, Duration: m.Animation.Duration})
	case m.Document != nil:
		add(sessions.Attachment{Kind: "document", Name: m.Document.FileName, MIME: m.Document.MimeType, Size: m.Document.FileSize, Ref: m.Document.FileID})
	}
	if v := m.Voice; v != nil {
		add(sessions.Attachment{Kind: "voice", MIME: v.MimeType, Size: v.FileSize, Ref: v.FileID, Duration: v.Duration})
	}
	if v := m.Audio; v != nil {
		add(sessions.Attachment{Kind: "audio", Name: cmp.Or(v.FileName, v.Title), MIME: v.MimeType, Size: v.FileSize, Ref: v.FileID, Duration: v.Duration})
	}
	if v := m.Video; v != nil {
		add(sessions.Attachment{Kind: "video", Name: v.FileName, MIME: v.MimeType, Size: v.FileSize, Ref: v.FileID, Duration: v.Duration})
	}
	if v := m.VideoNote; v != nil {
		add(sessions.Attachment{Kind: "video", Size: int64(v.FileSize), Ref: v.FileID, Duration: v.Duration})
	}
	if v := m.Sticker; v != nil {
		add(sessions.Attachment{Kind: "sticker", Name: v.Emoji, Size: int64(v.FileSize), Ref: v.FileID})
	}
	return append(out, places(m)...)
}

// places returns the parts of a message that are not files.
func places(m *message) []sessions.Attachment {
	var out []sessions.Attachment
	switch {
	case m.Venue != nil: // the message also has the same Location
		name := strings.TrimSpace(m.Venue.Title + ", " + m.Venue.Address)
		out = append(out, sessions.Attachment{Kind: "location", Name: valid(name + " (" + coordinates(m.Venue.Location) + ")")})
	case m.Location != nil:
		out = append(out, sessions.Attachment{Kind: "location", Name: coordinates(*m.Location)})
	}
	if c := m.Contact; c != nil {
		name := strings.TrimSpace(c.FirstName + " " + c.LastName)
		out = append(out, sessions.Attachment{Kind: "contact", Name: valid(name + " " + c.PhoneNumber)})
	}
	return out
}

func coordinates(l models.Location) string { return fmt.Sprintf("%.6f,%.6f", l.Latitude, l.Longitude) }

func largest(sizes []models.PhotoSize) models.PhotoSize {
	best := sizes[0]
	for _, s := range sizes[1:] {
		if s.Width*s.Height > best.Width*best.Height {
			best = s
		}
	}
	return best
}
