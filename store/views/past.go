package views

import (
	"context"
	"errors"
	"strconv"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

// ToolCalls reads the tool calls in the newest messages that a reader may see, at most rows messages, newest first. more says
// that there are older messages.
func (db Table) ToolCalls(ctx context.Context, most flow.Level, rows int) (calls []ledger.ToolCall, more bool, err error) {
	seen := engine.Filter{}
	seen.Within(most, "messages", "session_id")
	var last int64 // that is not looked at
	err = db.One(ctx, `SELECT seq FROM messages`+seen.Where()+` ORDER BY seq DESC`+engine.Limit(1)+` OFFSET `+strconv.Itoa(rows), seen.Args, &last)
	if more = err == nil; err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return nil, false, err
	}
	seen.Add(`seq > ?`, last)
	seen.Add(`role = 'assistant'`)
	seen.Add(`parts LIKE '%"type":"toolCall"%'`)
	found, err := engine.All(ctx, db.Conn, `SELECT session_id, run_id, parts, level, trust, created FROM messages`+seen.Where()+` ORDER BY seq DESC`+engine.Limit(rows), seen.Args, scanCalls)
	for _, group := range found {
		calls = append(calls, group...)
	}
	return calls, more, err
}

// scanCalls reads the tool calls of a message.
func scanCalls(row engine.Row) (calls []ledger.ToolCall, err error) {
	var call ledger.ToolCall
	var session, run, parts string
	var level, trust int
	var created int64
	if err := row.Scan(&session, &run, &parts, &level, &trust, &created); err != nil {
		return nil, err
	}
	call.Session, call.Run = sessions.ID(session), sessions.RunID(run)
	call.Label, call.Made = engine.LabelFrom(level, trust), engine.FromMicros(created)
	var d engine.Decoding
	var all []sessions.Part
	d.Into(parts, &all)
	for _, p := range all {
		if p.Type == sessions.PartToolCall {
			call.ID, call.Tool, call.Args = p.CallID, p.Tool, p.Args
			calls = append(calls, call)
		}
	}
	return calls, d.Err
}
