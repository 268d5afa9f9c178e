package port

import (
	"strings"

	"sluice/sessions/message"
)

// Streamed joins the chunks of an answer while a model writes it.
type Streamed struct {
	done []message.Part
	kind message.PartType
	text strings.Builder
}

// Add adds the next chunk.
func (b *Streamed) Add(c Chunk) {
	if c.Void {
		*b = Streamed{}
		return
	}
	if c.Type == message.PartToolCall {
		b.flush()
		b.done = append(b.done, message.Part{Type: message.PartToolCall, CallID: c.CallID, Tool: c.Tool})
		return
	}
	if c.Type != b.kind {
		b.flush()
		b.kind = c.Type
	}
	b.text.WriteString(c.Text)
}

func (b *Streamed) flush() {
	if b.text.Len() > 0 {
		b.done = append(b.done, message.Part{Type: b.kind, Text: b.text.String()})
		b.text.Reset()
	}
}

// Parts returns the parts that have arrived, without labels. It never returns nil.
func (b *Streamed) Parts() []message.Part {
	parts := append([]message.Part{}, b.done...)
	if b.text.Len() > 0 {
		parts = append(parts, message.Part{Type: b.kind, Text: b.text.String()})
	}
	return parts
}
