package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"sluice/sessions"
)

// SummaryHead introduces a summary, which is sent as a user's message.
const SummaryHead = "[Summary of the earlier conversation]\n"

// AgentHead introduces another agent's message, which is sent as a user's message.
func AgentHead(m sessions.Message) string {
	return fmt.Sprintf("[From agent %s, session %s, not from a person]\n", sessions.HeadWord(m.Sender.Name), strings.Join(strings.Fields(string(m.Sender.ID)), " "))
}

// Args turns a tool's arguments into a JSON object. Invalid arguments are stored as a string under a name that no
// tool has, so that the tool's check reports them to the model.
func Args(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	if text == "" {
		return json.RawMessage("{}")
	}
	if text[0] == '{' && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	raw, err := json.Marshal(map[string]string{"_raw": strings.ToValidUTF8(text, "\uFFFD")})
	if err != nil { // a string can always be encoded
		return json.RawMessage(`{"_raw":""}`)
	}
	return raw
}

// Describe describes an attachment to a model that can't see it.
func Describe(a *sessions.Attachment) string {
	var b strings.Builder
	b.WriteString("[attached " + a.Kind)
	for _, s := range []string{sessions.HeadWord(a.Name), sessions.HeadWord(a.MIME)} {
		if s != "" {
			b.WriteString(", " + s)
		}
	}
	if a.Duration > 0 {
		fmt.Fprintf(&b, ", %d s", a.Duration)
	}
	if a.Size > 0 {
		fmt.Fprintf(&b, ", %d bytes", a.Size)
	}
	if a.Media != "" {
		b.WriteString(", id " + string(a.Media)) // the model can use the id to forward it
	}
	if a.Path != "" {
		b.WriteString(", saved as " + a.Path)
	}
	b.WriteString("; " + cmp.Or(a.Note, "its content is not available") + "]")
	return b.String()
}

// IsPicture reports whether a part is a picture with content.
func IsPicture(p sessions.Part) bool {
	return p.Type == sessions.PartAttachment && len(p.Content) > 0 && p.Attachment.IsPicture()
}
