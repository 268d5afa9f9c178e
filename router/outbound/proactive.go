package outbound

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode/utf8"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

// The limits of a proactive message. The limits of a button are those of [adapters.Button].
const (
	buttonsMax     = 5
	buttonLabelMax = 40 // characters
	buttonValueMax = 60 // bytes
	filesMax       = 10
	fileNameMax    = 255 // bytes
)

// NewFile is a file from a program or a person, to be stored and sent.
type NewFile struct {
	Name    string
	MIME    string // empty: application/octet-stream
	Content []byte
}

// check says what is wrong with a proactive message in itself.
func (p Proactive) check(s *place.Settings) error {
	files := len(p.Files) + len(p.Media)
	switch text := strings.TrimSpace(p.Text); {
	case text == "" && len(p.Buttons) > 0:
		return &request.Error{Field: "text", Text: "is empty: buttons need a text above them"}
	case text == "" && files == 0:
		return &request.Error{Field: "text", Text: "is empty: give a text, a file or both"}
	case s.MaxTextBytes > 0 && len(p.Text) > s.MaxTextBytes:
		return request.TooLong("text", len(p.Text), s.MaxTextBytes)
	case len(p.Buttons) > buttonsMax:
		return &request.Error{Field: "buttons", Text: fmt.Sprintf("has %d items, the maximum is %d", len(p.Buttons), buttonsMax)}
	case files > filesMax:
		return &request.Error{Field: "files", Text: fmt.Sprintf("has %d items, the maximum is %d", files, filesMax)}
	}
	return errors.Join(p.checkButtons(), p.checkFiles(s))
}

func (p Proactive) checkButtons() error {
	for i, b := range p.Buttons {
		field := fmt.Sprintf("buttons[%d]", i)
		switch {
		case strings.TrimSpace(b.Label) == "" || strings.TrimSpace(b.Value) == "":
			return &request.Error{Field: field, Text: "want a label and a value"}
		case utf8.RuneCountInString(b.Label) > buttonLabelMax:
			return &request.Error{Field: field, Text: fmt.Sprintf("the label has %d characters, the maximum is %d", utf8.RuneCountInString(b.Label), buttonLabelMax)}
		case len(b.Value) > buttonValueMax:
			return &request.Error{Field: field, Text: fmt.Sprintf("the value has %d bytes, the maximum is %d", len(b.Value), buttonValueMax)}
		case strings.ContainsAny(b.Label+b.Value, "\n\r\x00") || !utf8.ValidString(b.Label+b.Value):
			return &request.Error{Field: field, Text: "want one line of valid UTF-8"}
		}
	}
	return nil
}

func (p Proactive) checkFiles(s *place.Settings) error {
	together := 0
	for i, f := range p.Files {
		together += len(f.Content)
		field := fmt.Sprintf("files[%d]", i)
		switch {
		case cleanName(f.Name) == "" || len(f.Name) > fileNameMax:
			return &request.Error{Field: field, Text: fmt.Sprintf("want a name of at most %d bytes", fileNameMax)}
		case s.MaxMediaBytes > 0 && len(f.Content) > s.MaxMediaBytes:
			return &request.Error{Field: field, Text: fmt.Sprintf("has %d bytes, the maximum is %d (limits.maxMediaBytes)", len(f.Content), s.MaxMediaBytes)}
		}
		if s.MaxMediaBytes > 0 && together > 2*s.MaxMediaBytes {
			return &request.Error{Field: field, Text: fmt.Sprintf("the files have %d bytes together, the maximum is %d", together, 2*s.MaxMediaBytes)}
		}
		if _, _, err := mime.ParseMediaType(cmp.Or(f.MIME, "application/octet-stream")); err != nil {
			return &request.Error{Field: field, Text: fmt.Sprintf("mime: %q is not a media type", f.MIME)}
		}
	}
	return nil
}

// cleanName is a file's name without folders and control characters.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError || r == 0x7f {
			return -1
		}
		return r
	}, path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, ""), `\`, "/")))
	if name == "." || name == ".." || name == "/" {
		return ""
	}
	return strings.TrimSpace(name)
}

// NewMedia creates a file to be stored and sent. The label is that of its source.
func (c *Composer) NewMedia(f NewFile, label flow.Label) ledger.Media {
	now, sum := c.Now(), sha256.Sum256(f.Content)
	return ledger.Media{
		ID: sessions.NewMediaID(), Name: cleanName(f.Name), MIME: cmp.Or(f.MIME, "application/octet-stream"),
		Size: int64(len(f.Content)), SHA256: hex.EncodeToString(sum[:]), Content: f.Content, Label: label,
		Created: now,
	}
}

// attach adds files to the delivery: new ones, and stored ones that its session may send. The delivery's label
// becomes the join of them all.
func (o *Sender) attach(ctx context.Context, d *ledger.Delivery, p Proactive) ([]ledger.Media, error) {
	var fresh []ledger.Media
	for _, f := range p.Files {
		m := o.Composer.NewMedia(f, p.Label)
		fresh = append(fresh, m)
		d.Files = append(d.Files, m.ID)
	}
	for _, id := range p.Media {
		m, err := o.Store.MediaInfo(ctx, id)
		if errors.Is(err, sessions.ErrNotFound) || err == nil && m.Session != p.Session {
			return nil, &request.Error{Field: "media", Text: fmt.Sprintf("this session has received no file %q, or it is no longer stored", id)}
		}
		if err != nil {
			return nil, fmt.Errorf("read file: %w", err)
		}
		d.Files = append(d.Files, id)
		d.Label = d.Label.Join(m.Label)
	}
	return fresh, nil
}

// Proactive is a request for a message that answers nobody.
type Proactive struct {
	Channel string
	Account string // empty: the channel's only account, or "default"
	// To is a conversation's id; "owner" for the owner's direct chat; "last" for the session's
	// last route; or a name, "#name" or "@name", on channels that can look it up.
	To       string
	ChatType sessions.ChatType // empty: as the platform reports, else direct
	Thread   string
	Text     string
	Buttons  []adapters.Button // at most 5, below the text
	Files    []NewFile         // sent after the text; at most 10 with Media
	// Media are stored files that the Session received, sent after Files.
	Media       []sessions.MediaID
	Label       flow.Label // of the text and of Files
	Idempotency string
	Session     sessions.ID // the session whose send-policy override applies; may be empty
	Agent       string
	Actor       string // for the audit trail
	// Reader is the level of the caller who sees the gate's decision: a session above it is treated as missing.
	// Invalid: the caller may see everything.
	Reader flow.Level
}

// Check asks for the gate's decision without effects.
type Check struct {
	Channel  string
	Account  string
	ChatType sessions.ChatType
	To       string
	Thread   string
	Session  string // key or id; may be empty
	Label    flow.Label
	Kind     ledger.DeliveryKind
	Text     string     // may be empty
	Reader   flow.Level // as in [Proactive]; applies to channels, too
}
