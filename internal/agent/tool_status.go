package agent

import (
	"context"
	"encoding/json"

	"sluice/sessions"
)

const statusSchema = `{"type":"object","additionalProperties":false,"properties":{
"sessionKey":{"type":"string","description":"the key or sessionId of a session; default: this one"}}}`

// statusMost bounds how many unfinished runs are counted.
const statusMost = 200

// sessionStatus is the result of session_status.
type sessionStatus struct {
	sessionRow
	Agent   string `json:"agent"`
	Label   string `json:"label"`
	Running int    `json:"running"`
	Queued  int    `json:"queued"`
	Now     int64  `json:"now"` // Unix milliseconds
}

func (l *Loop) statusTool() sessions.Tool {
	return sessions.Tool{
		Spec: sessions.ToolSpec{
			Name: "session_status", Parameters: json.RawMessage(statusSchema),
			Description: "Shows a conversation's state: model, tokens, queue, where it was last spoken to, and the time now.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone}, Idempotent: true,
		Run: l.status,
	}
}

func (l *Loop) status(ctx context.Context, caller sessions.Caller, raw json.RawMessage) (sessions.ToolResult, error) {
	var args struct {
		SessionKey string `json:"sessionKey"`
	}
	if err := decodeArgs(raw, &args); err != nil {
		return sessions.ToolResult{}, err
	}
	record, err := l.target(ctx, caller, args.SessionKey)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	runs, err := l.store.WaitingRuns(ctx, record.ID, statusMost)
	if err != nil {
		return sessions.ToolResult{}, inside("read runs", err)
	}
	status := sessionStatus{sessionRow: l.row(record), Agent: record.Agent, Label: record.Taint.String(), Now: l.now().UnixMilli()}
	for _, run := range runs {
		if run.Status == sessions.RunRunning {
			status.Running++
		} else {
			status.Queued++
		}
	}
	text, err := jsonResult(status)
	return sessions.ToolResult{Text: text, Label: record.Taint}, err
}
