package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/router/ledger"
	"sluice/store/alerts"
	"sluice/store/engine"
	"sluice/store/limits"
	"sluice/store/nodes"
	"sluice/store/usage"
)

// pruneMax is how many rows one step examines. It is fixed, so that its statements stay prepared.
const pruneMax = 200

var pruneList = placeholders(pruneMax)

func placeholders(n int) string { return `(?` + strings.Repeat(`, ?`, n-1) + `)` }

// The statements that remove rows check the condition again: a row may have changed since it was read.
var (
	nextDeliveries = `SELECT seq, created, id FROM deliveries WHERE seq > ? ORDER BY seq LIMIT ` + strconv.Itoa(pruneMax)
	nextRuns       = `SELECT seq, accepted, id FROM runs WHERE seq > ? ORDER BY seq LIMIT ` + strconv.Itoa(pruneMax)
	// A delivery whose idempotency key a client may repeat keeps its row, without its text.
	pruneDelivery = `UPDATE deliveries SET body = '', chunks = '', receipts = '', decision = '', buttons = '', controls = '', files = '', last_error = ''
		WHERE idempotency <> '' AND status IN ('sent', 'discarded') AND finished > 0 AND finished < ?
			AND (body <> '' OR chunks <> '' OR receipts <> '' OR decision <> '' OR buttons <> '' OR controls <> '' OR files <> '' OR last_error <> '')
			AND id IN ` + pruneList
	removeDelivery = `DELETE FROM deliveries WHERE idempotency = '' AND status IN ('sent', 'discarded') AND finished > 0 AND finished < ? AND id IN ` + pruneList
	// A run stays while its exchange has a text, while its answer is unsettled, and while it is the session's last
	// run or the last one there that a person has caused. The next run is the next entry of the index runs_session: if
	// PostgreSQL is asked whether there is a later run, it reads all later runs of the session for each run.
	prunableRun = `status NOT IN ('queued', 'running') AND finished > 0 AND finished < ?
		AND NOT EXISTS (SELECT 1 FROM exchanges x WHERE x.id = runs.exchange_id AND x.chain <> '')
		AND id NOT IN (SELECT d.run_id FROM deliveries d WHERE d.status NOT IN ('sent', 'discarded'))
		AND session_id = (SELECT next.session_id FROM runs next WHERE (next.session_id, next.seq) > (runs.session_id, runs.seq)
			AND (next.kind = 'message' OR runs.kind <> 'message') ORDER BY next.session_id, next.seq LIMIT 1)
		AND id IN ` + pruneList
	// The event's key stays forever: it identifies a repeat.
	forgetRuns = `UPDATE events SET run_id = '' WHERE event_key IN (SELECT event_key FROM runs WHERE ` + prunableRun + `)`
	removeRuns = `DELETE FROM runs WHERE ` + prunableRun
	// The run that an edited message led to stays known while the run exists.
	forgetRevisions = `DELETE FROM revisions WHERE run_id IN (SELECT id FROM runs WHERE ` + prunableRun + `)`
	// Emptied events leave the index of events that still have content.
	forgetEvents = `UPDATE events SET session_id = '', notice_id = '' WHERE event_key IN (
		SELECT event_key FROM events WHERE run_id = '' AND (session_id <> '' OR notice_id <> '') AND accepted < ? ORDER BY accepted LIMIT ` + strconv.Itoa(pruneMax) + `)`
)

var removeTriggers = `DELETE FROM triggers WHERE trigger_key IN (SELECT trigger_key FROM triggers WHERE ended > 0 AND ended < ? ORDER BY ended LIMIT ` + strconv.Itoa(pruneMax) + `)`

// The id of a request identifies a repetition, also while its trigger is open.
var removeHooks = `DELETE FROM hook_requests WHERE id IN (SELECT id FROM hook_requests WHERE received < ?
	AND NOT EXISTS (SELECT 1 FROM triggers WHERE trigger_key = hook_requests.id AND ` + openTriggers + `) ORDER BY received LIMIT ` + strconv.Itoa(pruneMax) + `)`

var removeChecks = `DELETE FROM checks WHERE name IN (SELECT name FROM checks WHERE looked < ? ORDER BY looked LIMIT ` + strconv.Itoa(pruneMax) + `)`

// mediaMax is how many files one step removes; they may be large.
const mediaMax = 20

// A file stays while an unsettled delivery has it, and while a run of its session is unfinished.
var removeMedia = `DELETE FROM media WHERE id IN (SELECT id FROM media WHERE created < ? AND ` + unneeded + `
	AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.session_id = media.session_id AND r.` + openRuns + `) ORDER BY created LIMIT ` + strconv.Itoa(mediaMax) + `)`

// Prune implements [ledger.Store].
func (db retention) Prune(ctx context.Context, p ledger.Prune) (ledger.Pruned, error) {
	switch p.Kind {
	case ledger.PruneDeliveries:
		return db.pruneRows(ctx, p, db.inOrder(nextDeliveries), counted{pruneDelivery, true}, counted{removeDelivery, true})
	case ledger.PruneExchanges:
		return db.pruneRows(ctx, p, db.byAge(oldExchanges, pruneMax), counted{forgetExchange, true}, counted{removeExchange, true})
	case ledger.PruneChains:
		return db.pruneOldest(ctx, removeChains, p.Before, pruneMax)
	case ledger.PruneTriggers:
		return db.pruneOldest(ctx, removeTriggers, p.Before, pruneMax)
	case ledger.PruneHooks:
		return db.pruneOldest(ctx, removeHooks, p.Before, pruneMax)
	case ledger.PruneAlerts:
		return db.pruneAlerts(ctx, p)
	case ledger.PruneNodes:
		return db.pruneOldest(ctx, nodes.Removal(pruneMax), p.Before, pruneMax)
	case ledger.PruneLimits:
		return db.pruneOldest(ctx, limits.Removal(pruneMax), p.Before, pruneMax)
	case ledger.PruneChecks:
		return db.pruneOldest(ctx, removeChecks, p.Before, pruneMax)
	case ledger.PruneRuns:
		return db.pruneRows(ctx, p, db.inOrder(nextRuns), counted{forgetRevisions, false}, counted{forgetRuns, false}, counted{removeRuns, true})
	case ledger.PruneEvents:
		return db.pruneOldest(ctx, forgetEvents, p.Before, pruneMax)
	case ledger.PruneMedia:
		return db.pruneOldest(ctx, removeMedia, p.Before, mediaMax)
	case ledger.PruneUsage:
		return db.pruneUsage(ctx, p)
	case ledger.PruneArchived:
		return db.pruneSessions(ctx, p, &archivedSessions)
	case ledger.PruneSessions:
		return db.pruneSessions(ctx, p, &endedSessions)
	}
	return ledger.Pruned{}, fmt.Errorf("prune %q: this kind is not known", p.Kind)
}

// pruneAlerts removes what is left of alerts.
func (db retention) pruneAlerts(ctx context.Context, p ledger.Prune) (ledger.Pruned, error) {
	var done ledger.Pruned
	for _, sql := range alerts.Removals(pruneMax) {
		some, err := db.pruneOldest(ctx, sql, p.Before, pruneMax)
		if err != nil {
			return done, err
		}
		done.Removed, done.More = done.Removed+some.Removed, done.More || some.More
	}
	return done, nil
}

// pruneUsage adds old calls to the sums of their days, in the transaction that removes them.
func (db retention) pruneUsage(ctx context.Context, p ledger.Prune) (ledger.Pruned, error) {
	var calls, budgets int64
	mark, add, remove, periods := usage.Removals(pruneMax)
	before := engine.Micros(p.Before)
	err := db.Change(ctx, engine.Write{
		{SQL: mark, Args: []any{before}}, {SQL: add}, {SQL: remove, Changed: &calls}, {SQL: periods, Args: []any{before}, Changed: &budgets},
	})
	return ledger.Pruned{Removed: int(calls + budgets), More: max(calls, budgets) == pruneMax}, err
}

// pruneOldest runs a statement that finds the oldest rows itself and changes a limited number of them.
func (db retention) pruneOldest(ctx context.Context, sql string, before time.Time, most int64) (ledger.Pruned, error) {
	var changed int64
	if err := db.Change(ctx, engine.Write{{SQL: sql, Args: []any{engine.Micros(before)}, Changed: &changed}}); err != nil {
		return ledger.Pruned{}, err
	}
	return ledger.Pruned{Removed: int(changed), More: changed == most}, nil
}

// counted is a statement of a step. It says whether the rows that it changes count as removed.
type counted struct {
	sql   string
	count bool
}

// found has the rows that a step examines.
type found struct {
	ids  []string
	next string // the [ledger.Prune.After] of the next step
	more bool   // there may be further rows
}

// lookup finds the next rows for a step.
type lookup func(ctx context.Context, p ledger.Prune) (found, error)

// inOrder examines rows by seq, which is roughly their age. It ends when all rows are too young.
func (db retention) inOrder(read string) lookup {
	return func(ctx context.Context, p ledger.Prune) (f found, err error) {
		after, err := number(p, p.After)
		if err != nil {
			return f, err
		}
		before, rows := engine.Micros(p.Before), 0
		err = db.Query(ctx, read, []any{after}, func(row engine.Row) error {
			var seq, at int64
			var id string
			if err := row.Scan(&seq, &at, &id); err != nil {
				return err
			}
			if rows++; at < before {
				f.ids = append(f.ids, id)
			}
			f.next = strconv.FormatInt(seq, 10)
			return nil
		})
		f.more = rows == pruneMax && len(f.ids) > 0
		return f, err
	}
}

// byAge examines up to most rows, by a time and the id.
func (db retention) byAge(read string, most int) lookup {
	return func(ctx context.Context, p ledger.Prune) (f found, err error) {
		text, id, _ := strings.Cut(p.After, " ")
		after, err := number(p, text)
		if err != nil {
			return f, err
		}
		err = db.Query(ctx, read, []any{after, id, engine.Micros(p.Before)}, func(row engine.Row) error {
			var at int64
			var id string
			err := row.Scan(&at, &id)
			f.ids, f.next = append(f.ids, id), strconv.FormatInt(at, 10)+" "+id
			return err
		})
		f.more = len(f.ids) == most
		return f, err
	}
}

// number parses the position at which the previous step ended; 0 at the beginning.
func number(p ledger.Prune, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("prune %s: place of the last step: %w", p.Kind, err)
	}
	return n, nil
}

// pruneRows examines the next rows. The statements take a time and a list of ids.
func (db retention) pruneRows(ctx context.Context, p ledger.Prune, look lookup, remove ...counted) (ledger.Pruned, error) {
	f, err := look(ctx, p)
	if err != nil || len(f.ids) == 0 {
		return ledger.Pruned{}, err
	}
	args := append([]any{engine.Micros(p.Before)}, listArgs(f.ids, pruneMax)...)
	changed := make([]int64, len(remove))
	var write engine.Write
	for i, r := range remove {
		write = append(write, engine.Statement{SQL: r.sql, Args: append([]any(nil), args...), Changed: &changed[i]})
	}
	if err := db.Change(ctx, write); err != nil {
		return ledger.Pruned{}, err
	}
	done := ledger.Pruned{Next: f.next, More: f.more}
	for i, r := range remove {
		if r.count {
			done.Removed += int(changed[i])
		}
	}
	return done, nil
}

// listArgs returns the arguments of a list with n places. The last id fills the rest.
func listArgs(ids []string, n int) []any {
	args := make([]any, n)
	for i := range args {
		args[i] = ids[min(i, len(ids)-1)]
	}
	return args
}

// sessionsMax is how many sessions one step examines. It removes at most [pruneMax] rows of each table that they own.
const sessionsMax = 50

// sessionPruning has the statements of a step that removes sessions.
type sessionPruning struct {
	read string
	// hide hides a conversation before its messages are removed in several steps, and makes a writer that has read
	// the session fail. The events' keys stay forever.
	hide, messages, revisions, events, runs, approvals, media, sessions string
}

// newSessionPruning builds the statements for ended sessions that meet the condition. age is the indexed column that
// orders them; old takes the time twice.
func newSessionPruning(condition, age, old string) sessionPruning {
	gone := condition + ` AND ` + old + ` AND id IN ` + placeholders(sessionsMax) + `
		AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.session_id = sessions.id AND r.` + openRuns + `)
		AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.session_id = sessions.id AND a.status = 'pending')
		AND NOT EXISTS (SELECT 1 FROM exchanges x WHERE x.requester = sessions.id AND x.ended = 0)
		AND NOT EXISTS (SELECT 1 FROM exchanges x WHERE x.target = sessions.id AND x.ended = 0)
		AND id NOT IN (SELECT d.session_id FROM deliveries d WHERE d.` + openDeliveries + `)
		AND id NOT IN (SELECT d.session_id FROM deliveries d WHERE d.` + previews + `)
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.session_id = sessions.id AND d.` + owedDeliveries + `)
		AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.spawned_by = sessions.id AND c.spawned_by <> '' AND c.ended = 0)`
	owned := ` WHERE session_id IN (SELECT id FROM sessions WHERE ` + gone + `)`
	limit := ` LIMIT ` + strconv.Itoa(pruneMax)
	someRuns := `SELECT owned.seq FROM runs owned` + owned + ` ORDER BY owned.session_id, owned.seq` + limit
	return sessionPruning{
		read: `SELECT ` + age + `, id FROM sessions WHERE ` + condition + ` AND (` + age + `, id) > (?, ?) AND ` + age + ` < ?
			ORDER BY ` + age + `, id LIMIT ` + strconv.Itoa(sessionsMax),
		hide:      `UPDATE sessions SET head = '', compacted = '', revision = revision + 1 WHERE head <> '' AND ` + gone,
		messages:  `DELETE FROM messages WHERE seq IN (SELECT seq FROM messages` + owned + limit + `)`,
		revisions: `DELETE FROM revisions WHERE run_id IN (SELECT id FROM runs WHERE seq IN (` + someRuns + `))`,
		events:    `UPDATE events SET run_id = '' WHERE event_key IN (SELECT event_key FROM runs WHERE seq IN (` + someRuns + `))`,
		runs:      `DELETE FROM runs WHERE seq IN (` + someRuns + `)`,
		approvals: `DELETE FROM approvals WHERE id IN (SELECT id FROM approvals` + owned + limit + `)`,
		media:     `DELETE FROM media WHERE id IN (SELECT id FROM media` + owned + ` LIMIT ` + strconv.Itoa(mediaMax) + `)`,
		sessions: `DELETE FROM sessions WHERE ` + gone + ` AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.session_id = sessions.id)
			AND NOT EXISTS (SELECT 1 FROM runs owned WHERE owned.session_id = sessions.id)
			AND NOT EXISTS (SELECT 1 FROM media f WHERE f.session_id = sessions.id)
			AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.session_id = sessions.id)`,
	}
}

var (
	// archivedSessions are those of sub-agents. They are kept for some time after they have ended.
	archivedSessions = newSessionPruning(`ended > 0 AND spawned_by <> ''`, `ended`, `ended < ? AND last_activity < ?`)
	// endedSessions are all others. Their age counts from their last activity, because nobody can continue them.
	endedSessions = newSessionPruning(`ended > 0 AND spawned_by = ''`, `last_activity`, `last_activity < ? AND `+lastAccepted+` < ?`)
)

// pruneSessions examines the next ended sessions, oldest first. While one of them has rows left, the next step
// examines the same sessions.
func (db retention) pruneSessions(ctx context.Context, p ledger.Prune, s *sessionPruning) (ledger.Pruned, error) {
	f, err := db.byAge(s.read, sessionsMax)(ctx, p)
	if err != nil || len(f.ids) == 0 {
		return ledger.Pruned{}, err
	}
	var uncounted, messages, runs, approvals, media, gone int64
	step := func(sql string, changed *int64) engine.Statement { return sessionStep(sql, p.Before, f.ids, changed) }
	err = db.Change(ctx, engine.Write{
		step(s.hide, &uncounted), step(s.messages, &messages), step(s.revisions, &uncounted), step(s.events, &uncounted), step(s.runs, &runs),
		step(s.approvals, &approvals), step(s.media, &media), step(s.sessions, &gone),
	})
	if err != nil {
		return ledger.Pruned{}, err
	}
	done := ledger.Pruned{Removed: int(messages + runs + approvals + media + gone), Next: f.next, More: f.more}
	if max(messages, runs, approvals) == pruneMax || media == mediaMax {
		done.Next, done.More = p.After, true
	}
	return done, nil
}

func sessionStep(sql string, before time.Time, ids []string, changed *int64) engine.Statement {
	args := append([]any{engine.Micros(before), engine.Micros(before)}, listArgs(ids, sessionsMax)...)
	return engine.Statement{SQL: sql, Args: args, Changed: changed}
}

// An ended exchange stays while something may still ask for it: one of its runs, the run that made the call (it
// repeats the call after a crash), or a live sub-agent, whose audience is that of the requester.
var (
	oldExchanges     = `SELECT ended, id FROM exchanges WHERE ended > 0 AND chain <> '' AND (ended, id) > (?, ?) AND ended < ? ORDER BY ended, id LIMIT ` + strconv.Itoa(pruneMax)
	prunableExchange = `ended > 0 AND chain <> '' AND ended < ?
		AND id NOT IN (SELECT r.exchange_id FROM runs r WHERE r.` + openRuns + `)
		AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.session_id = exchanges.requester AND r.` + openRuns + ` AND r.accepted <= exchanges.started)
		AND NOT (kind = 'spawn' AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = exchanges.target AND s.ended = 0))
		AND id IN ` + pruneList
	// A client may repeat its key at any time, so the row stays and records that the request was made. The key of a
	// tool call can be repeated only by its run.
	repeatable     = `request_key <> '' AND substr(request_key, 1, ` + strconv.Itoa(len(ledger.ToolCallPrefix)) + `) <> '` + ledger.ToolCallPrefix + `'`
	forgetExchange = `UPDATE exchanges SET body = '', route = '', chain = '' WHERE ` + repeatable + ` AND ` + prunableExchange
	removeExchange = `DELETE FROM exchanges WHERE NOT (` + repeatable + `) AND ` + prunableExchange
	// A chain is continued only by its runs, so a chain without an unfinished run is over.
	removeChains = `DELETE FROM chains WHERE id IN (SELECT id FROM chains WHERE started < ?
		AND id NOT IN (SELECT COALESCE(r.chain/*pg ::jsonb*/ ->> 'id', '') FROM runs r WHERE r.` + openRuns + ` AND r.chain <> '')
		ORDER BY started LIMIT ` + strconv.Itoa(pruneMax) + `)`
)
