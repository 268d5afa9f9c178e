package store

import (
	"context"
	"strings"
	"time"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
	"sluice/store/views"
)

const (
	runColumns = `seq, id, session_id, partition_no, kind, status, input, route, level, trust, event_key, leader, epoch, attempts,
		reply, error, model, input_tokens, output_tokens, cached_tokens, accepted, started, finished, exchange_id, chain, timeout, calls`
	insertedRun = `id, session_id, partition_no, kind, status, input, route, level, trust, event_key, leader, epoch,
		attempts, reply, error, model, input_tokens, output_tokens, cached_tokens, accepted, started, finished, exchange_id, chain, timeout`
	runMarks  = `?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?`
	insertRun = `INSERT INTO runs (` + insertedRun + `) VALUES (` + runMarks + `)`
	// beginRun inserts a run that its owner works at once: its session has not ended, and nothing waits in it.
	beginRun = `INSERT INTO runs (` + insertedRun + `) SELECT ` + runMarks + `
		WHERE NOT EXISTS (SELECT 1 FROM runs o WHERE o.session_id = ? AND o.` + openRuns + `)
		AND NOT EXISTS (SELECT 1 FROM sessions e WHERE e.id = ? AND e.ended <> 0)` + engine.Fence
	// openRuns is the condition of the partial index that finds open work, however much is stored.
	openRuns = `status IN ('queued', 'running')`
	moveRun  = `UPDATE runs SET status = ?, leader = ?, epoch = ?, attempts = ?, reply = ?, error = ?, model = ?, input_tokens = ?,
		output_tokens = ?, cached_tokens = ?, level = ?, trust = ?, started = ?, finished = ?
		WHERE id = ? AND status = ? AND epoch <= ?` + engine.Fence
	// abortQueued skips a run that an exchange waits for: its worker ends the run together with the exchange. It also
	// skips notes, which need no work: their report would be lost.
	abortQueued = `UPDATE runs SET status = 'aborted', error = 'stopped', finished = ? WHERE session_id = ? AND status = 'queued' AND kind <> 'note' AND ` + openRuns + `
		AND NOT EXISTS (SELECT 1 FROM exchanges x WHERE x.id = runs.exchange_id AND x.run_id = runs.id AND x.ended = 0)`
	abortOpen = `UPDATE runs SET abort_asked = 1 WHERE session_id = ? AND ` + openRuns
	// batchOf selects the run that leads another one (possibly itself) and all runs merged into it.
	batchOf = `SELECT ` + runColumns + ` FROM runs WHERE id = (SELECT CASE leader WHEN '' THEN id ELSE leader END FROM runs WHERE id = ?)
		UNION ALL SELECT ` + runColumns + ` FROM runs WHERE leader <> '' AND leader = (SELECT CASE leader WHEN '' THEN id ELSE leader END FROM runs WHERE id = ?)`
	// setCalls stores the calls of a client's functions, which few runs have, with the run's end.
	setCalls     = `UPDATE runs SET calls = ? WHERE id = ?`
	interruptRun = `UPDATE runs SET abort_asked = 2 WHERE id = ? AND status = 'running' AND abort_asked = 0`
)

func (b *writer) enqueue(r sessions.Run) {
	level, trust := engine.Label(r.Label)
	insert := engine.Statement{SQL: insertRun, Duplicate: sessions.ErrDuplicate, Args: []any{
		string(r.ID), string(r.Session), r.Partition, string(r.Kind), string(r.Status), b.Text(r.Input), b.route(r.Route), level, trust,
		engine.Indexed(r.EventKey), string(r.Leader), r.Epoch, r.Attempts, r.Reply, r.Error, r.Model,
		r.Usage.InputTokens, r.Usage.OutputTokens, r.Usage.CachedTokens, engine.Micros(r.Accepted), engine.Micros(r.Started), engine.Micros(r.Finished),
		r.Exchange, b.chain(r.Chain), r.Timeout.Microseconds(),
	}}
	if r.Status == sessions.RunRunning {
		insert.SQL, insert.Else = beginRun, sessions.ErrConflict
		insert.Args = append(insert.Args, string(r.Session), string(r.Session), r.Epoch, r.Partition, r.Epoch)
	}
	b.add(insert)
}

// chain encodes a chain. It is empty for a run that no other run has caused.
func (b *writer) chain(c sessions.Chain) string {
	if c.ID == "" {
		return ""
	}
	return b.Text(c)
}

func (b *writer) moveRun(m sessions.RunMove) {
	r := m.Run
	level, trust := engine.Label(r.Label)
	b.add(engine.Statement{SQL: moveRun, Else: sessions.ErrConflict, Args: []any{
		string(r.Status), string(r.Leader), r.Epoch, r.Attempts, r.Reply, r.Error, r.Model,
		r.Usage.InputTokens, r.Usage.OutputTokens, r.Usage.CachedTokens, level, trust, engine.Micros(r.Started), engine.Micros(r.Finished),
		string(r.ID), string(m.From), guard(r.Epoch), r.Epoch, r.Partition, r.Epoch,
	}})
	if len(r.Calls) > 0 {
		b.add(engine.Statement{SQL: setCalls, Args: []any{b.Text(r.Calls), string(r.ID)}})
	}
	if r.Kind == sessions.KindTrigger && r.Status.Terminal() {
		b.add(engine.Statement{SQL: wakeTrigger, Args: []any{engine.Micros(r.Finished), engine.Indexed(ledger.TriggerOfRun(r.EventKey))}})
	}
}

// guard is the greatest stored epoch that a move replaces: its own, or any if it asks for no fence.
func guard(epoch int64) int64 {
	if epoch == 0 {
		return 1<<63 - 1
	}
	return epoch
}

func scanRun(row engine.Row) (sessions.Run, error) {
	var r sessions.Run
	var id, session, kind, status, input, route, leader, chain, calls string
	var level, trust int
	var accepted, started, finished, timeout int64
	err := row.Scan(&r.Seq, &id, &session, &r.Partition, &kind, &status, &input, &route, &level, &trust, &r.EventKey, &leader, &r.Epoch,
		&r.Attempts, &r.Reply, &r.Error, &r.Model, &r.Usage.InputTokens, &r.Usage.OutputTokens, &r.Usage.CachedTokens,
		&accepted, &started, &finished, &r.Exchange, &chain, &timeout, &calls)
	if err != nil {
		return r, err
	}
	r.ID, r.Session, r.Leader = sessions.RunID(id), sessions.ID(session), sessions.RunID(leader)
	r.Kind, r.Status, r.Label = sessions.RunKind(kind), sessions.RunStatus(status), engine.LabelFrom(level, trust)
	r.Accepted, r.Started, r.Finished = engine.FromMicros(accepted), engine.FromMicros(started), engine.FromMicros(finished)
	r.Timeout = time.Duration(timeout) * time.Microsecond
	var d engine.Decoding
	d.Into(chain, &r.Chain)
	d.Into(calls, &r.Calls)
	d.Into(input, &r.Input)
	if strings.Contains(input, `"quoted":`) {
		earlierQuotation(&d, input, &r.Input)
	}
	d.Into(route, &r.Route)
	return r, d.Err
}

// earlierQuotation reads a quotation that an earlier version has stored: a text with an unknown writer.
func earlierQuotation(d *engine.Decoding, input string, into *sessions.Input) {
	var earlier struct {
		Quoted string `json:"quoted"`
	}
	if d.Into(input, &earlier); earlier.Quoted != "" {
		into.Quotations = append(into.Quotations, sessions.Quotation{Kind: sessions.QuoteReply, Text: earlier.Quoted})
	}
}

// Run implements [ledger.Store].
func (db runTable) Run(ctx context.Context, id sessions.RunID) (sessions.Run, error) {
	return engine.Single(ctx, db.Conn, engine.Brief+`SELECT `+runColumns+` FROM runs WHERE id = ?`, []any{string(id)}, scanRun)
}

// Batch implements [ledger.Store].
func (db runTable) Batch(ctx context.Context, id sessions.RunID) ([]sessions.Run, error) {
	return engine.All(ctx, db.Conn, batchOf, []any{string(id), string(id)}, scanRun)
}

// WaitingRuns implements [ledger.Store].
func (db runTable) WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error) {
	return engine.All(ctx, db.Conn, engine.Brief+`SELECT `+runColumns+` FROM runs WHERE session_id = ? AND `+openRuns+` ORDER BY seq`+engine.Limit(limit),
		[]any{string(id)}, scanRun)
}

// LastHeard implements [ledger.Store].
func (db runTable) LastHeard(ctx context.Context, id sessions.ID) (time.Time, error) {
	var accepted int64
	err := db.One(ctx, `SELECT accepted FROM runs WHERE session_id = ? AND kind = 'message' ORDER BY seq DESC LIMIT 1`, []any{string(id)}, &accepted)
	return engine.FromMicros(accepted), err
}

// AbortRequested implements [ledger.Store].
func (db runTable) AbortRequested(ctx context.Context, id sessions.RunID) (sessions.AbortCause, error) {
	var asked int
	err := db.One(ctx, `SELECT abort_asked FROM runs WHERE id = ?`, []any{string(id)}, &asked)
	return sessions.AbortCause(asked), err
}

// AbortsRequested implements [ledger.Store].
func (db runTable) AbortsRequested(ctx context.Context, partition int) ([]sessions.ID, error) {
	return engine.All(ctx, db.Conn, `SELECT DISTINCT session_id FROM runs WHERE partition_no = ? AND `+openRuns+` AND status = 'running' AND abort_asked <> 0`,
		[]any{partition}, func(row engine.Row) (sessions.ID, error) {
			var id string
			err := row.Scan(&id)
			return sessions.ID(id), err
		})
}

// WaitingLanes implements [ledger.Store].
func (db runTable) WaitingLanes(ctx context.Context, partition int) ([]sessions.Lane, error) {
	return engine.All(ctx, db.Conn, `SELECT DISTINCT session_id AS lane FROM runs WHERE partition_no = ? AND `+openRuns+`
		UNION ALL SELECT DISTINCT lane FROM deliveries WHERE partition_no = ? AND `+openDeliveries+`
		UNION ALL SELECT '`+string(ledger.DueLane)+`' WHERE EXISTS (SELECT 1 FROM triggers WHERE partition_no = ? AND `+openTriggers+`)
		UNION ALL SELECT '`+string(ledger.AlertLane)+`' WHERE EXISTS (SELECT 1 FROM alert_groups WHERE partition_no = ? AND open = 1)`,
		[]any{partition, partition, partition, partition}, func(row engine.Row) (sessions.Lane, error) {
			var lane string
			err := row.Scan(&lane)
			return sessions.Lane(lane), err
		})
}

// runStatus is the condition of the partial index for runs of one status, for cases that the planner can't infer.
func runStatus(status string) string {
	switch sessions.RunStatus(status) {
	case "", sessions.RunDone:
		return `1 = 1`
	case sessions.RunQueued, sessions.RunRunning:
		return openRuns
	}
	return `status NOT IN ('done', 'queued', 'running')`
}

// ListRuns implements [ledger.Browser].
func (db runTable) ListRuns(ctx context.Context, q ledger.Query) ([]sessions.Run, error) {
	f := runsOf(q)
	f.After(q.After, q.MaxLevel, "runs")
	return views.Runs(ctx, db.Conn, q, f, runColumns, scanRun)
}

// CountRunsOf implements [ledger.Browser].
func (db runTable) CountRunsOf(ctx context.Context, q ledger.Query, limit int) (int, error) {
	return views.CountRuns(ctx, db.Conn, q, runsOf(q), limit)
}

// runsOf are the conditions of a query that an index serves.
func runsOf(q ledger.Query) engine.Filter {
	f := engine.Filter{}
	f.Within(q.MaxLevel, "runs", "session_id")
	f.AddIf(q.Status != "", runStatus(q.Status))
	f.AddIf(q.Status != "", `status = ?`, q.Status)
	f.AddIf(q.Session != "", `session_id = ?`, string(q.Session))
	f.AddIf(q.Exchange != "", `exchange_id = ? AND exchange_id <> ''`, q.Exchange)
	f.AddIf(q.Channel != "", `event_key >= ? AND event_key < ?`, q.Channel+"/", q.Channel+"0") // "0" follows "/"
	return f
}
