package discordtest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Message is one message of the bot as people see it.
type Message struct {
	ID, Channel string
	Content     string
	Nonce       string
	ReplyTo     string
	Buttons     []Button
	Files       map[string][]byte
	Reactions   []string // the bot's own on it
	Flags       int
	Edited      bool
	Private     bool // only who gave the command sees it
	At          time.Time
}

// Button is one button below a message.
type Button struct{ Label, Value string }

// body is a message as the adapter sends it.
type body struct {
	Content         *string        `json:"content"`
	Flags           int            `json:"flags"`
	Nonce           any            `json:"nonce"`
	EnforceNonce    bool           `json:"enforce_nonce"`
	Components      []component    `json:"components"`
	AllowedMentions *allowed       `json:"allowed_mentions"`
	Reference       *messageRef    `json:"message_reference"`
	Attachments     []attachedFile `json:"attachments"`
}

type allowed struct {
	Parse *[]string `json:"parse"`
}

type messageRef struct {
	MessageID string `json:"message_id"`
}

type attachedFile struct {
	ID       any    `json:"id"`
	Filename string `json:"filename"`
}

type component struct {
	Type       int         `json:"type"`
	Label      string      `json:"label"`
	CustomID   string      `json:"custom_id"`
	Components []component `json:"components"`
}

func (b *body) text() string {
	if b.Content == nil {
		return ""
	}
	return strings.TrimSpace(*b.Content) // as Discord does
}

// nonceWindow is how long Discord recognises an enforced nonce.
const nonceWindow = 5 * time.Minute

// checkMessage checks a message against Discord's published limits.
func (c *call) checkMessage(b *body) {
	what := c.r.Method + " " + c.r.URL.Path
	if n := utf8.RuneCountInString(b.text()); n > 2000 {
		c.violate("%s: content of %d characters, at most 2000 are allowed", what, n)
	}
	if nonce, ok := b.Nonce.(string); ok && len(nonce) > 25 {
		c.violate("%s: nonce of %d characters, at most 25 are allowed", what, len(nonce))
	}
	if b.AllowedMentions == nil || b.AllowedMentions.Parse == nil || len(*b.AllowedMentions.Parse) > 0 {
		c.violate("%s: allowed_mentions lets the text notify people", what)
	}
	if len(b.Components) > 5 {
		c.violate("%s: %d rows of components, at most 5 are allowed", what, len(b.Components))
	}
	seen := map[string]bool{}
	for _, row := range b.Components {
		if row.Type != 1 || len(row.Components) == 0 || len(row.Components) > 5 {
			c.violate("%s: a row of type %d with %d components; want type 1 with 1 to 5", what, row.Type, len(row.Components))
		}
		for _, button := range row.Components {
			if n := len([]rune(button.CustomID)); n < 1 || n > 100 || seen[button.CustomID] {
				c.violate("%s: custom_id %q is too long, empty, or there twice", what, button.CustomID)
			}
			if n := utf8.RuneCountInString(button.Label); n < 1 || n > 80 {
				c.violate("%s: label of %d characters, 1 to 80 are allowed", what, n)
			}
			seen[button.CustomID] = true
		}
	}
}

// shown is a post as people see it.
func (p *post) shown() Message {
	var b body
	_ = json.Unmarshal(encode(p.raw), &b) // it was made here
	m := Message{
		ID: p.id, Channel: p.channel.id, Content: b.text(), Nonce: p.nonce, Files: p.content, Flags: b.Flags,
		Reactions: slices.Clone(p.mine), Edited: p.raw["edited_timestamp"] != nil, Private: p.private, At: p.at,
	}
	if b.Reference != nil {
		m.ReplyTo = b.Reference.MessageID
	}
	for _, row := range b.Components {
		for _, button := range row.Components {
			m.Buttons = append(m.Buttons, Button{button.Label, button.CustomID})
		}
	}
	return m
}
