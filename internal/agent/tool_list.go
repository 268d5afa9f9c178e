package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sluice/policy/flow"
	"sluice/router"
	"sluice/sessions"
)

const (
	listMost         = 200 // rows of one call
	listMessagesMost = 20  // messages of a row
	listScan         = 1000
)

const listSchema = `{"type":"object","additionalProperties":false,"properties":{
"kinds":{"type":"array","items":{"type":"string","enum":["main","group","cron","hook","node","other"]},"description":"only these kinds; none: all"},
"limit":{"type":"integer","minimum":1,"maximum":200,"description":"most rows"},
"activeMinutes":{"type":"integer","minimum":1,"description":"only sessions active in the last so many minutes"},
"messageLimit":{"type":"integer","minimum":0,"maximum":20,"description":"newest messages to show with each; default 0"}}}`

type listArgs struct {
	Kinds         []sessions.KeyKind `json:"kinds"`
	Limit         *int               `json:"limit"`
	ActiveMinutes *int               `json:"activeMinutes"`
	MessageLimit  int                `json:"messageLimit"`
}

// check also gives the defaults.
func (a *listArgs) check() error {
	kinds := []sessions.KeyKind{sessions.KindMain, sessions.KindGroup, sessions.KindCron, sessions.KindHook, sessions.KindNode, sessions.KindOther}
	for i, k := range a.Kinds {
		if !slices.Contains(kinds, k) {
			return fmt.Errorf("kinds[%d]: %q is none of %v", i, k, kinds)
		}
	}
	if a.Limit != nil && *a.Limit < 1 {
		return fmt.Errorf("limit: %d is less than 1", *a.Limit)
	}
	if a.ActiveMinutes != nil && *a.ActiveMinutes < 1 {
		return fmt.Errorf("activeMinutes: %d is less than 1", *a.ActiveMinutes)
	}
	if a.MessageLimit < 0 {
		return fmt.Errorf("messageLimit: %d is less than 0", a.MessageLimit)
	}
	a.MessageLimit = min(a.MessageLimit, listMessagesMost)
	return nil
}

func (a *listArgs) limit() int {
	if a.Limit == nil {
		return listMost
	}
	return min(*a.Limit, listMost)
}

// sessionRow is a row of sessions_list.
type sessionRow struct {
	Key             sessions.Key        `json:"key"`
	Kind            sessions.KeyKind    `json:"kind"`
	Channel         string              `json:"channel"`
	DisplayName     string              `json:"displayName,omitempty"`
	UpdatedAt       int64               `json:"updatedAt"` // Unix milliseconds
	SessionID       sessions.ID         `json:"sessionId"`
	Model           string              `json:"model"`
	ContextTokens   int                 `json:"contextTokens"`
	TotalTokens     int                 `json:"totalTokens"`
	AbortedLastRun  bool                `json:"abortedLastRun"`
	SendPolicy      sessions.SendPolicy `json:"sendPolicy,omitempty"`
	LastChannel     string              `json:"lastChannel,omitempty"`
	LastTo          string              `json:"lastTo,omitempty"`
	DeliveryContext *deliveryContext    `json:"deliveryContext,omitempty"`
	Messages        []historyMessage    `json:"messages,omitempty"`
}

type deliveryContext struct {
	Channel   string `json:"channel"`
	To        string `json:"to"`
	AccountID string `json:"accountId"`
}

func (l *Loop) listTool() sessions.Tool {
	return sessions.Tool{
		Spec: sessions.ToolSpec{
			Name: "sessions_list", Parameters: json.RawMessage(listSchema),
			Description: "Lists the conversations that you can see, the last active first.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone}, Idempotent: true,
		Run: l.listSessions,
	}
}

func (l *Loop) listSessions(ctx context.Context, caller sessions.Caller, raw json.RawMessage) (sessions.ToolResult, error) {
	var args listArgs
	if err := decodeArgs(raw, &args); err != nil {
		return sessions.ToolResult{}, err
	}
	if err := args.check(); err != nil {
		return sessions.ToolResult{}, err
	}
	query := router.SessionQuery{MaxLevel: caller.Taint.Level(), Limit: listScan}
	if args.ActiveMinutes != nil {
		query.ActiveSince = l.now().Add(-time.Duration(*args.ActiveMinutes) * time.Minute)
	}
	records, err := l.store.ListSessions(ctx, query)
	if err != nil {
		return sessions.ToolResult{}, inside("list sessions", err)
	}
	rows := []sessionRow{}
	label := flow.NewLabel(flow.Public, flow.Trusted)
	for _, record := range records {
		if len(rows) == args.limit() {
			break
		}
		kind := record.Key.Kind(l.settings.Load().Keyer)
		if !l.visible(caller, record) || (len(args.Kinds) > 0 && !slices.Contains(args.Kinds, kind)) {
			continue
		}
		row := l.row(record)
		if args.MessageLimit > 0 {
			if row.Messages, err = l.newest(ctx, record, args.MessageLimit); err != nil {
				return sessions.ToolResult{}, err
			}
		}
		rows = append(rows, row)
		label = label.Join(record.Taint)
	}
	text, err := jsonResult(map[string]any{"count": len(rows), "sessions": rows})
	return sessions.ToolResult{Text: text, Label: label}, err
}

func (l *Loop) row(record sessions.Record) sessionRow {
	row := sessionRow{
		Key: record.Key, Kind: record.Key.Kind(l.settings.Load().Keyer), DisplayName: displayName(record),
		UpdatedAt: record.LastActivity.UnixMilli(), SessionID: record.ID, Model: l.modelOf(record),
		ContextTokens: record.ContextSize, TotalTokens: record.Usage.InputTokens + record.Usage.OutputTokens,
		AbortedLastRun: record.AbortedLast, SendPolicy: record.SendPolicy,
		LastChannel: record.Route.Channel, LastTo: string(record.Route.Conversation),
	}
	row.Channel = channelOf(row.Kind, record)
	if !record.Route.IsZero() {
		row.DeliveryContext = &deliveryContext{Channel: record.Route.Channel, To: string(record.Route.Conversation), AccountID: record.Route.Account}
	}
	return row
}

func (l *Loop) modelOf(record sessions.Record) string {
	if record.Model != "" {
		return record.Model
	}
	return l.ModelName(record.Agent)
}

func displayName(record sessions.Record) string {
	if record.Title != "" {
		return record.Title
	}
	return record.Route.Title
}

// channelOf is a row's channel: that of its last route, "internal" for what no chat began.
func channelOf(kind sessions.KeyKind, record sessions.Record) string {
	switch {
	case kind == sessions.KindCron, kind == sessions.KindHook, kind == sessions.KindNode:
		return "internal"
	case record.Route.Channel != "":
		return record.Route.Channel
	}
	return "unknown"
}

// newest are the newest messages of a session without those of tools.
func (l *Loop) newest(ctx context.Context, record sessions.Record, n int) ([]historyMessage, error) {
	messages, err := l.store.Thread(ctx, record)
	if err != nil {
		return nil, inside("read messages", err)
	}
	shown, _ := historyOf(messages, n, false)
	return shown, nil
}
