package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"sluice/policy/flow"
	"sluice/sessions"
)

const (
	historyDefault  = 50
	historyMost     = 200
	historyMostText = 4000      // bytes of one text
	historyMostSize = 80 * 1024 // bytes of all of it
)

const historySchema = `{"type":"object","additionalProperties":false,"required":["sessionKey"],"properties":{
"sessionKey":{"type":"string","description":"the key or sessionId of a session, as sessions_list shows it; main is your main session"},
"limit":{"type":"integer","minimum":1,"maximum":200,"description":"newest messages; default 50"},
"includeTools":{"type":"boolean","description":"also tool calls and results; default false"}}}`

type historyArgs struct {
	SessionKey   string `json:"sessionKey"`
	Limit        *int   `json:"limit"`
	IncludeTools bool   `json:"includeTools"`
}

func (a *historyArgs) check() error {
	if a.SessionKey == "" {
		return errors.New("sessionKey: is required")
	}
	if a.Limit != nil && *a.Limit < 1 {
		return fmt.Errorf("limit: %d is less than 1", *a.Limit)
	}
	return nil
}

func (a *historyArgs) limit() int {
	if a.Limit == nil {
		return historyDefault
	}
	return min(*a.Limit, historyMost)
}

// historyMessage is a message as a model sees it in another session's transcript.
type historyMessage struct {
	Role      sessions.Role   `json:"role"`
	Sender    string          `json:"sender,omitempty"`
	Content   []sessions.Part `json:"content"`
	Timestamp int64           `json:"timestamp"` // Unix milliseconds
}

func (l *Loop) historyTool() sessions.Tool {
	return sessions.Tool{
		Spec: sessions.ToolSpec{
			Name: "sessions_history", Parameters: json.RawMessage(historySchema),
			Description: "Shows the newest messages of a conversation, oldest first. Long texts are shortened.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone}, Idempotent: true,
		Run: l.history,
	}
}

func (l *Loop) history(ctx context.Context, caller sessions.Caller, raw json.RawMessage) (sessions.ToolResult, error) {
	var args historyArgs
	if err := decodeArgs(raw, &args); err != nil {
		return sessions.ToolResult{}, err
	}
	if err := args.check(); err != nil {
		return sessions.ToolResult{}, err
	}
	record, err := l.target(ctx, caller, args.SessionKey)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	messages, err := l.store.Thread(ctx, record)
	if err != nil {
		return sessions.ToolResult{}, inside("read messages", err)
	}
	label := record.Taint
	for _, m := range messages {
		label = label.Join(m.Label) // written since the record was read
	}
	if !flow.CanFlow(label.Level(), caller.Taint.Level()) {
		return sessions.ToolResult{}, fmt.Errorf("sessionKey: there is no session %q; sessions_list shows those that you can see", args.SessionKey)
	}
	shown, dropped := historyOf(messages, args.limit(), args.IncludeTools)
	text, err := jsonResult(map[string]any{
		"sessionKey": record.Key, "sessionId": record.ID, "messages": shown, "truncated": dropped > 0, "droppedMessages": dropped,
	})
	return sessions.ToolResult{Text: text, Label: label}, err
}

// historyOf shortens a transcript to its newest messages. dropped counts the older ones that were left out.
func historyOf(messages []sessions.Message, limit int, tools bool) (shown []historyMessage, dropped int) {
	shown = []historyMessage{}
	size := 0
	for _, m := range slices.Backward(messages) {
		content := visibleParts(m, tools)
		if len(content) == 0 {
			continue
		}
		for _, p := range content {
			size += len(p.Text) + len(p.Args)
		}
		if len(shown) == limit || (size > historyMostSize && len(shown) > 0) {
			dropped++
			continue
		}
		shown = append(shown, historyMessage{Role: m.Role, Sender: m.Sender.Name, Content: content, Timestamp: m.Created.UnixMilli()})
	}
	slices.Reverse(shown)
	return shown, dropped
}

// visibleParts leaves out reasoning, and without tools what belongs to them.
func visibleParts(m sessions.Message, tools bool) []sessions.Part {
	var parts []sessions.Part
	for _, p := range m.Parts {
		switch p.Type {
		case sessions.PartThinking:
			continue
		case sessions.PartToolCall, sessions.PartToolResult:
			if !tools {
				continue
			}
		}
		p.Text = shortened(p.Text)
		parts = append(parts, p)
	}
	return parts
}

func shortened(s string) string {
	if len(s) <= historyMostText {
		return s
	}
	cut := historyMostText
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
