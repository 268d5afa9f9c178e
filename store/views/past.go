package views

import (
	"context"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

// ToolCalls reads the tool calls in the newest messages of the database, of which at most rows are looked through; the
// newest message first. more says that there are older ones.
func (db Table) ToolCalls(ctx context.Context, most flow.Level, rows int) (calls []ledger.ToolCall, more bool, err error) {
	var last int64
	if err := db.One(ctx, `SELECT COALESCE(MAX(seq), 0) FROM messages`, nil, &last); err != nil {
		return nil, false, err
	}
	seen, within, older := engine.Filter{}, engine.Filter{}, engine.Filter{}
	seen.Within(most, "messages", "session_id")
	seen.Add(`role = 'assistant'`)
	seen.Add(`parts LIKE '%"type":"toolCall"%'`)
	within.Add(`seq > ?`, last-int64(rows))
	older.Add(`seq <= ?`, last-int64(rows))
	f := seen.And(within)
	found, err := engine.All(ctx, db.Conn, `SELECT session_id, run_id, parts, level, trust, created FROM messages`+f.Where()+` ORDER BY seq DESC`+engine.Limit(rows), f.Args, scanCalls)
	if err != nil {
		return nil, false, err
	}
	for _, group := range found {
		calls = append(calls, group...)
	}
	f = seen.And(older)
	n, err := Count(ctx, db.Conn, "messages", f, 1)
	return calls, n > 0, err
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
