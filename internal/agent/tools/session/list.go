// Package session has the tools that show sessions: sessions_list, sessions_history, session_status and summarize.
//
// What they show never exceeds what the caller has learned already, see [visibility.Checker].
package session

import (
	"context"
	"time"

	"sluice/internal/agent/roster"
	"sluice/internal/agent/tools"
	"sluice/internal/agent/visibility"
	"sluice/internal/spending/standing"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	listMax         = 200  // rows of one call
	listMessagesMax = 20   // messages of a row
	listPage        = 1000 // sessions per query
	listPages       = 10
)

type listArgs struct {
	Kinds         []sessions.KeyKind `json:"kinds,omitempty" jsonschema:"only these kinds; default: all" bounds:"each.enum=main|group|cron|hook|node|other"`
	Limit         *int               `json:"limit,omitempty" jsonschema:"maximum number of rows" bounds:"minimum=1,maximum=200,lowered"`
	ActiveMinutes *int               `json:"activeMinutes,omitempty" jsonschema:"only sessions active within this many minutes" bounds:"minimum=1"`
	MessageLimit  int                `json:"messageLimit,omitempty" jsonschema:"newest messages to show with each; default 0" bounds:"minimum=0,maximum=20,lowered"`
}

func (a *listArgs) limit() int {
	if a.Limit == nil {
		return listMax
	}
	return min(*a.Limit, listMax)
}

// Store reads sessions, and stores the model that session_status sets.
type Store interface {
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	Thread(ctx context.Context, record sessions.Record) ([]sessions.Message, error)
	ListSessions(ctx context.Context, q ledger.SessionQuery) ([]sessions.Record, error)
	WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error)
	ListExchanges(ctx context.Context, q ledger.ExchangeQuery) ([]ledger.Exchange, error)
	CommitSession(ctx context.Context, change sessions.Change) error
}

// Tools are the tools that show sessions: their list, their messages, their state and summaries of them.
type Tools struct {
	Store  Store
	Sight  *visibility.Checker
	Roster *roster.Roster
	Models func(name string) (sessions.Model, error)
	// CheckModel returns an error for a model that a session with data of the level may not use.
	CheckModel func(name string, knows flow.Level) error
	// Spending reads the cost of model calls; nil: session_status does not show it.
	Spending *standing.Reader
	Now      func() time.Time
}

// All gives the tools.
func (ts *Tools) All() []sessions.Tool {
	return []sessions.Tool{ts.listTool(), ts.historyTool(), ts.statusTool(), ts.summarizeTool()}
}

func (ts *Tools) listTool() sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{
			Name:        "sessions_list",
			Description: "Lists the conversations that you can see, most recently active first.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone}, Idempotent: true,
	}, tools.Work[listArgs]{Run: ts.listSessions})
}

func (ts *Tools) listSessions(ctx context.Context, call tools.Call[listArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	args.MessageLimit = min(args.MessageLimit, listMessagesMax)
	query := ledger.SessionQuery{MaxLevel: caller.Taint.Level(), Kinds: args.Kinds, Limit: listPage}
	if args.ActiveMinutes != nil {
		query.ActiveSince = ts.Now().Add(-time.Duration(*args.ActiveMinutes) * time.Minute)
	}
	listed := listing{Sessions: []sessionRow{}, label: flow.NewLabel(flow.Public, flow.Trusted)}
	for range listPages {
		records, err := ts.Store.ListSessions(ctx, query)
		if err != nil {
			return sessions.ToolResult{}, tools.Inside("list sessions", err)
		}
		if err := ts.list(ctx, caller, &args, records, &listed); err != nil {
			return sessions.ToolResult{}, err
		}
		if len(records) < listPage || len(listed.Sessions) == args.limit() {
			break
		}
		query.After = records[len(records)-1].ID
	}
	listed.Count = len(listed.Sessions)
	text, err := tools.JSON(listed)
	return sessions.ToolResult{Text: text, Label: listed.label}, err
}

// listing is the result of sessions_list.
type listing struct {
	Count    int          `json:"count"`
	Sessions []sessionRow `json:"sessions"`
	label    flow.Label   // join of what the rows were made of
}

// list adds the sessions of a page that the caller sees and asked for.
func (ts *Tools) list(ctx context.Context, caller sessions.Caller, args *listArgs, page []sessions.Record, to *listing) error {
	for _, record := range page {
		if len(to.Sessions) == args.limit() {
			return nil
		}
		if reserved(record.Key) || !ts.Sight.Visible(caller, record) {
			continue
		}
		row, shown, err := ts.row(ctx, caller, record)
		if err != nil {
			return err
		}
		label := record.Taint
		if args.MessageLimit > 0 && !ts.Sight.GuestIn(caller, record.ID) {
			if row.Messages, label, err = ts.newest(ctx, record, args.MessageLimit); err != nil {
				return err
			}
			if !policy.CallerOf(caller).May(policy.CheckSessionsHistory, label) {
				continue // its label has risen since the page was read
			}
		}
		to.Sessions = append(to.Sessions, row)
		to.label = to.label.Join(label).Join(shown)
	}
	return nil
}

// reserved words are not keys: they are never listed, even if something stored them.
func reserved(key sessions.Key) bool { return key == "global" || key == "unknown" }
