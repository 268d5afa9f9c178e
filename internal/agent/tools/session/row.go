package session

import (
	"cmp"
	"context"
	"strings"

	"sluice/announce"
	"sluice/internal/agent/tools"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// sessionRow is a row of sessions_list. A transcript consists of database rows and has no file, so its path is that
// of the gateway's own API.
type sessionRow struct {
	Key             sessions.Key           `json:"key"`
	Kind            sessions.KeyKind       `json:"kind"`
	Channel         string                 `json:"channel"`
	Label           string                 `json:"label,omitempty"` // the name that people gave it
	DisplayName     string                 `json:"displayName,omitempty"`
	UpdatedAt       int64                  `json:"updatedAt"` // Unix milliseconds
	SessionID       sessions.ID            `json:"sessionId"`
	SpawnedBy       sessions.Key           `json:"spawnedBy,omitempty"` // of a sub-agent, if the caller may see the session that started it
	Model           string                 `json:"model"`
	ContextTokens   int                    `json:"contextTokens"` // of its last prompt
	TotalTokens     int                    `json:"totalTokens"`
	ThinkingLevel   sessions.ThinkingLevel `json:"thinkingLevel,omitempty"` // empty: the agent's
	VerboseLevel    sessions.VerboseLevel  `json:"verboseLevel,omitempty"`
	SystemSent      bool                   `json:"systemSent"` // a model was called in it
	AbortedLastRun  bool                   `json:"abortedLastRun"`
	SendPolicy      sessions.SendPolicy    `json:"sendPolicy,omitempty"`
	LastChannel     string                 `json:"lastChannel,omitempty"`
	LastTo          string                 `json:"lastTo,omitempty"`
	DeliveryContext *deliveryContext       `json:"deliveryContext,omitempty"`
	TranscriptPath  string                 `json:"transcriptPath"`
	Messages        []historyMessage       `json:"messages,omitempty"`
}

type deliveryContext struct {
	Channel   string `json:"channel"`
	To        string `json:"to"`
	AccountID string `json:"accountId"`
}

// row shows the parts of a session that the caller may see. Its label covers the shown texts of other people.
func (ts *Tools) row(ctx context.Context, caller sessions.Caller, record sessions.Record) (sessionRow, flow.Label, error) {
	var err error
	if record.Route, err = ts.routeOf(ctx, caller, record); err != nil {
		return sessionRow{}, flow.Top(), err
	}
	if ts.Sight.GuestIn(caller, record.ID) {
		record.Title, record.Label = flow.Text{}, flow.Text{} // how its owner talks there
	}
	quotes := policy.NewQuotation(caller.Taint.Level())
	row := sessionRow{
		Key: ts.Sight.Shown(caller, record.Key), Kind: record.Key.Kind(ts.Roster.Settings().Keyer), Label: quotes.Or(record.Label, ""), DisplayName: displayName(quotes, record),
		UpdatedAt: record.LastActivity.UnixMilli(), SessionID: record.ID, SpawnedBy: ts.starter(ctx, caller, record), Model: ts.modelOf(quotes, record),
		ContextTokens: record.ContextSize, TotalTokens: record.Usage.InputTokens + record.Usage.OutputTokens,
		ThinkingLevel: record.ThinkingLevel, VerboseLevel: record.VerboseLevel, SystemSent: record.Usage.InputTokens > 0,
		AbortedLastRun: record.AbortedLast, SendPolicy: record.SendPolicy,
		LastChannel: record.Route.Channel, LastTo: string(record.Route.Conversation), TranscriptPath: announce.TranscriptPath(record.ID),
	}
	row.Channel = channelOf(row.Kind, record)
	if !record.Route.IsZero() {
		row.DeliveryContext = &deliveryContext{Channel: record.Route.Channel, To: string(record.Route.Conversation), AccountID: record.Route.Account}
	}
	return row, quotes.Label(), nil
}

// routeOf is where somebody last spoke in a session, and for the caller's own session where its run answers. The route is
// stored when a run ends: until the first one has ended in a main session that nobody had spoken to, it is that of the
// message that waits. A guest sees only its own.
func (ts *Tools) routeOf(ctx context.Context, caller sessions.Caller, record sessions.Record) (sessions.Route, error) {
	switch {
	case record.ID == caller.Session && (!caller.Route.IsZero() || ts.Sight.GuestIn(caller, record.ID)):
		return caller.Route, nil
	case !record.Route.IsZero(), record.Key != ts.Roster.Settings().Keyer.Main(record.Agent):
		return record.Route, nil
	}
	runs, err := ts.Store.WaitingRuns(ctx, record.ID, statusMax)
	if err != nil {
		return sessions.Route{}, tools.Inside("read runs", err)
	}
	for _, run := range runs {
		if !run.Route.IsZero() && policy.CallerOf(caller).May(policy.CheckSessionsSee, run.Label) {
			return run.Route, nil
		}
	}
	return sessions.Route{}, nil
}

// starter is the key of the session that started a sub-agent, if the caller may see it.
func (ts *Tools) starter(ctx context.Context, caller sessions.Caller, record sessions.Record) sessions.Key {
	switch record.SpawnedBy {
	case "":
		return ""
	case caller.Session:
		return ts.Sight.Shown(caller, caller.Key)
	}
	parent, err := ts.Store.Session(ctx, record.SpawnedBy)
	if err != nil || !ts.Sight.Visible(caller, parent) {
		return ""
	}
	return ts.Sight.Shown(caller, parent.Key)
}

// modelOf is the model of a session; the agent's model if the caller may not see the override.
func (ts *Tools) modelOf(quotes *policy.Quotation, record sessions.Record) string {
	return cmp.Or(quotes.Or(record.Model, ""), ts.Roster.ModelName(record.Agent))
}

func displayName(quotes *policy.Quotation, record sessions.Record) string {
	if record.Title.Empty() {
		return record.Route.Title
	}
	return quotes.Or(record.Title, "")
}

// channelOf is the channel of a row: that of its last route, else that of its key, or "internal" without a chat.
func channelOf(kind sessions.KeyKind, record sessions.Record) string {
	switch {
	case kind == sessions.KindCron, kind == sessions.KindHook, kind == sessions.KindNode, record.Key.SubAgent():
		return "internal"
	case record.Route.Channel != "":
		return record.Route.Channel
	case kind == sessions.KindGroup:
		channel, _, _ := strings.Cut(record.Key.Bare(), ":")
		return channel
	}
	return "unknown"
}

// newest returns the newest messages of a session without tool messages, and their label.
func (ts *Tools) newest(ctx context.Context, record sessions.Record, n int) ([]historyMessage, flow.Label, error) {
	messages, err := ts.Store.Thread(ctx, record)
	if err != nil {
		return nil, flow.Top(), tools.Inside("read messages", err)
	}
	label := record.Taint
	for _, m := range messages {
		label = label.Join(m.Label) // written after the record was read
	}
	return historyOf(messages, n, false).Messages, label, nil
}
