package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"sluice/sessions"
)

const (
	historyTextMax = 4000      // bytes of one text
	historySizeMax = 80 * 1024 // bytes of all messages as JSON
)

// History is a transcript as a model reads it, and what it omits.
type History struct {
	Messages         []historyMessage `json:"messages"`
	Truncated        bool             `json:"truncated"`        // there are older messages
	DroppedMessages  int              `json:"droppedMessages"`  // number of omitted messages
	ContentTruncated bool             `json:"contentTruncated"` // texts were shortened, or a message left out of its row
	Bytes            int              `json:"bytes"`            // of messages as JSON
}

// historyMessage is one of its messages.
type historyMessage struct {
	Role      sessions.Role   `json:"role"`
	Sender    string          `json:"sender,omitempty"`
	Content   []sessions.Part `json:"content"`
	Timestamp int64           `json:"timestamp"` // Unix milliseconds
}

// historyOf shortens a transcript to its newest messages. A last message that is too big by itself is replaced by a
// note.
func historyOf(messages []sessions.Message, limit int, tools bool) History {
	h := History{Messages: []historyMessage{}}
	for _, m := range slices.Backward(messages) {
		content, cut := visibleParts(m, tools)
		if len(content) == 0 {
			continue
		}
		row := historyMessage{Role: m.Role, Sender: m.Sender.Name, Content: content, Timestamp: m.Created.UnixMilli()}
		size := sizeOf(row)
		if len(h.Messages) == 0 && size > historySizeMax {
			row.Content, cut = []sessions.Part{tooBig(m, size)}, true
			size = sizeOf(row)
		}
		if h.DroppedMessages > 0 || len(h.Messages) == limit || h.Bytes+size > historySizeMax {
			h.DroppedMessages++
			continue
		}
		h.Messages = append(h.Messages, row)
		h.Bytes += size
		h.ContentTruncated = h.ContentTruncated || cut
	}
	slices.Reverse(h.Messages)
	h.Truncated = h.DroppedMessages > 0
	return h
}

// sizeOf is a row's size as JSON. A row that can't be encoded counts as infinitely big.
func sizeOf(row historyMessage) int {
	text, err := json.Marshal(row)
	if err != nil {
		return historySizeMax + 1
	}
	return len(text) + 1 // and a comma
}

func tooBig(m sessions.Message, size int) sessions.Part {
	return sessions.TextPart(fmt.Sprintf("[message not shown: it has %d bytes, the maximum is %d]", size, historySizeMax), m.Label)
}

// visibleParts omits reasoning and, without tools, the parts of tools. cut: something was shortened.
func visibleParts(m sessions.Message, tools bool) (parts []sessions.Part, cut bool) {
	for _, p := range m.Parts {
		switch p.Type {
		case sessions.PartThinking:
			continue
		case sessions.PartToolCall, sessions.PartToolResult:
			if !tools {
				continue
			}
		}
		if len(p.Text) > historyTextMax {
			p.Text, cut = shortened(p.Text), true
		}
		if len(p.Args) > historyTextMax {
			p.Args, cut = json.RawMessage(fmt.Sprintf(`{"omittedBytes":%d}`, len(p.Args))), true
		}
		parts = append(parts, p)
	}
	return parts, cut
}

func shortened(s string) string {
	at := historyTextMax
	for !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + "…"
}
