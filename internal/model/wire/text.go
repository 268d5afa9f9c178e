package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"sluice/sessions"
)

// SummaryHead stands before a summary, which is sent as a user's message.
const SummaryHead = "[Summary of the earlier conversation]\n"

// AgentHead stands before what another agent has said, which is sent as a user's message.
func AgentHead(m sessions.Message) string {
	return fmt.Sprintf("[From agent %s, session %s, not from a person]\n", sessions.HeadWord(m.Sender.Name), strings.Join(strings.Fields(string(m.Sender.ID)), " "))
}

// Args makes a tool's arguments one JSON object: what a model has spoilt is
// kept in a string under a name that no tool knows, so that the tool's check tells the model.
func Args(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	if text == "" {
		return json.RawMessage("{}")
	}
	if text[0] == '{' && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	raw, err := json.Marshal(map[string]string{"_raw": strings.ToValidUTF8(text, "\uFFFD")})
	if err != nil { // a string can always be written
		return json.RawMessage(`{"_raw":""}`)
	}
	return raw
}

// Describe tells a model of an attachment that it is not shown.
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
		b.WriteString(", id " + string(a.Media)) // by which the model can send it on
	}
	b.WriteString("; " + cmp.Or(a.Note, "its content is not available") + "]")
	return b.String()
}

// IsPicture reports whether a part is a picture whose content is there to be shown.
func IsPicture(p sessions.Part) bool {
	return p.Type == sessions.PartAttachment && len(p.Content) > 0 && p.Attachment.IsPicture()
}
