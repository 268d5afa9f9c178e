package ledger

import (
	"mime"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Media is a file that came in or goes out, with its content.
type Media struct {
	ID      sessions.MediaID
	Session sessions.ID // whose conversation it came in with; empty for one that a program gave
	Name    string
	MIME    string
	Size    int64  // bytes
	SHA256  string // of the content, in hex
	Content []byte // nil in what lists and heads give
	Label   flow.Label
	Created time.Time
	// Expires is when it may be swept, unless a delivery that is not done still has it.
}

// FileName is the name under which the file goes out; what came without one, as pictures do, gets one of its type.
func (m Media) FileName() string {
	if m.Name != "" {
		return m.Name
	}
	if endings, err := mime.ExtensionsByType(m.MIME); err == nil && len(endings) > 0 {
		return "file" + endings[0]
	}
	return "file"
}

// FileName is the name under which a file leaves.
func (d Delivery) FileName(m Media) string {
	if d.Decision == nil {
		return m.FileName()
	}
	return d.Decision.Redacted(m.FileName())
}
