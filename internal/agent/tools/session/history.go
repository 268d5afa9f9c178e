package session

import (
	"context"
	"errors"

	"sluice/internal/agent/tools"
	"sluice/internal/agent/visibility"
	"sluice/policy"
	"sluice/sessions"
)

const (
	historyDefault = 50
	historyMax     = 200
)

type historyArgs struct {
	SessionKey   string `json:"sessionKey" jsonschema:"the key or sessionId of a session, as sessions_list shows it; main is your main session" also:"session_id"`
	Limit        *int   `json:"limit,omitempty" jsonschema:"how many of the newest messages; default 50" bounds:"minimum=1,maximum=200,lowered"`
	IncludeTools bool   `json:"includeTools,omitempty" jsonschema:"include tool calls and results; default false"`
}

func (a *historyArgs) limit() int {
	if a.Limit == nil {
		return historyDefault
	}
	return min(*a.Limit, historyMax)
}

func (ts *Tools) historyTool() sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{
			Name:        "sessions_history",
			Description: "Shows the newest messages of a conversation, oldest first. Long texts are shortened.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone}, Idempotent: true,
	}, tools.Work[historyArgs]{Run: ts.history, Check: func(ctx context.Context, call tools.Call[historyArgs]) error {
		_, err := ts.Sight.Target(ctx, call.Caller, call.Args.SessionKey)
		return err
	}})
}

// read returns a session that the caller may see, with the messages of its thread. A guest of that session gets
// [visibility.ErrGuest].
func (ts *Tools) read(ctx context.Context, caller sessions.Caller, key string) (sessions.Record, []sessions.Message, error) {
	record, err := ts.Sight.Target(ctx, caller, key)
	if err != nil {
		return sessions.Record{}, nil, err
	}
	if ts.Sight.GuestIn(caller, record.ID) {
		return sessions.Record{}, nil, visibility.ErrGuest
	}
	messages, err := ts.Store.Thread(ctx, record)
	if err != nil {
		return sessions.Record{}, nil, tools.Inside("read messages", err)
	}
	return record, messages, nil
}

func (ts *Tools) history(ctx context.Context, call tools.Call[historyArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	if args.SessionKey == "" {
		return sessions.ToolResult{}, errors.New("sessionKey: is required")
	}
	record, messages, err := ts.read(ctx, caller, args.SessionKey)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	label := record.Taint
	for _, m := range messages {
		label = label.Join(m.Label) // written after the record was read
	}
	if !policy.CallerOf(caller).May(policy.CheckSessionsHistory, label) {
		record.Taint = label
		ts.Sight.Deny(caller, policy.CheckSessionsHistory, record)
		return sessions.ToolResult{}, visibility.NoSession(args.SessionKey)
	}
	text, err := tools.JSON(struct {
		SessionKey sessions.Key `json:"sessionKey"`
		SessionID  sessions.ID  `json:"sessionId"`
		History
	}{ts.Sight.Shown(caller, record.Key), record.ID, historyOf(messages, args.limit(), args.IncludeTools)})
	return sessions.ToolResult{Text: text, Label: label}, err
}
