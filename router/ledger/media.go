package ledger

import (
	"mime"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Media is a received or sent file, with its content.
type Media struct {
	ID      sessions.MediaID
	Session sessions.ID // the session that received it; empty for a program's file
	Name    string
	MIME    string
	Size    int64  // bytes
	SHA256  string // of the content, in hex
	Content []byte // nil in lists
	Label   flow.Label
	Created time.Time
}

// FileName is the name under which the file is sent. A file without a name, such as a picture, gets one from its
// type.
func (m Media) FileName() string {
	if m.Name != "" {
		return m.Name
	}
	if endings, err := mime.ExtensionsByType(m.MIME); err == nil && len(endings) > 0 {
		return "file" + endings[0]
	}
	return "file"
}

// FileName is the name under which a file is sent.
func (d Delivery) FileName(m Media) string {
	if d.Decision == nil {
		return m.FileName()
	}
	return d.Decision.Redacted(m.FileName())
}
