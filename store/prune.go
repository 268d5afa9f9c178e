package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/router/ledger"
)

// pruneMost is how many rows one step looks at; a fixed number, so that its statements stay prepared.
const pruneMost = 200

var pruneList = placeholders(pruneMost)

func placeholders(n int) string { return `(?` + strings.Repeat(`, ?`, n-1) + `)` }

// What is removed is chosen again in the statement that removes it: a row may have changed since it was read.
var (
	oldDeliveries = `SELECT seq, id FROM deliveries WHERE seq > ? AND created < ? ORDER BY seq LIMIT ?`
	oldRuns       = `SELECT seq, id FROM runs WHERE seq > ? AND accepted < ? ORDER BY seq LIMIT ?`
	// A delivery whose idempotency key a client may repeat keeps its row, without what it said.
	forgetDelivery = `UPDATE deliveries SET body = '', chunks = '', receipts = '', decision = '', buttons = '', controls = '', files = '', last_error = ''
		WHERE idempotency <> '' AND status IN ('sent', 'discarded') AND finished > 0 AND finished < ?
			AND (body <> '' OR chunks <> '' OR receipts <> '' OR decision <> '' OR buttons <> '' OR controls <> '' OR files <> '' OR last_error <> '')
			AND id IN ` + pruneList
	removeDelivery = `DELETE FROM deliveries WHERE idempotency = '' AND status IN ('sent', 'discarded') AND finished > 0 AND finished < ? AND id IN ` + pruneList
	// A run stays while an exchange names it, while an answer of it is still to be sent or looked at, and while it is the
	// last one in its session that a person has caused.
	prunableRun = `status NOT IN ('queued', 'running') AND finished > 0 AND finished < ? AND exchange_id = ''
		AND id NOT IN (SELECT d.run_id FROM deliveries d WHERE d.status NOT IN ('sent', 'discarded'))
		AND EXISTS (SELECT 1 FROM runs n WHERE n.session_id = runs.session_id AND n.seq > runs.seq AND n.kind = 'message')
		AND id IN ` + pruneList
	// The event's key stays for ever: it is what makes a repeat a repeat.
	forgetRuns = `UPDATE events SET run_id = '' WHERE event_key IN (SELECT event_key FROM runs WHERE ` + prunableRun + `)`
	removeRuns = `DELETE FROM runs WHERE ` + prunableRun
	// Once they are emptied, events are not in the index of those that still say something.
	forgetEvents = `UPDATE events SET session_id = '', notice_id = '' WHERE event_key IN (
		SELECT event_key FROM events WHERE run_id = '' AND (session_id <> '' OR notice_id <> '') AND accepted < ? ORDER BY accepted LIMIT ` + strconv.Itoa(pruneMost) + `)`
)

// mediaMost is how many files one step removes; they may be large.
const mediaMost = 20

// A file stays while a delivery that is not settled has it, and while a run of its session is not finished.
var removeMedia = `DELETE FROM media WHERE id IN (SELECT id FROM media WHERE created < ? AND ` + unneeded + `
	AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.session_id = media.session_id AND r.` + openRuns + `) ORDER BY created LIMIT ` + strconv.Itoa(mediaMost) + `)`

// Prune implements [ledger.Store].
func (db *DB) Prune(ctx context.Context, p ledger.Prune) (ledger.Pruned, error) {
	switch p.Kind {
	case ledger.PruneDeliveries:
		return db.pruneRows(ctx, p, oldDeliveries, counted{forgetDelivery, true}, counted{removeDelivery, true})
	case ledger.PruneRuns:
		return db.pruneRows(ctx, p, oldRuns, counted{forgetRuns, false}, counted{removeRuns, true})
	case ledger.PruneEvents:
		return db.pruneOldest(ctx, forgetEvents, p.Before, pruneMost)
	case ledger.PruneMedia:
		return db.pruneOldest(ctx, removeMedia, p.Before, mediaMost)
	case ledger.PruneArchived:
		return db.pruneSessions(ctx, p, &archivedSessions)
	case ledger.PruneSessions:
		return db.pruneSessions(ctx, p, &endedSessions)
	}
	return ledger.Pruned{}, fmt.Errorf("prune %q: this kind is not known", p.Kind)
}

// pruneOldest runs a statement that finds the oldest rows itself and changes at most a number of them.
func (db *DB) pruneOldest(ctx context.Context, sql string, before time.Time, most int64) (ledger.Pruned, error) {
	var changed int64
	if err := db.write(ctx, Write{{SQL: sql, Args: []any{micros(before)}, Changed: &changed}}); err != nil {
		return ledger.Pruned{}, err
	}
	return ledger.Pruned{Removed: int(changed), More: changed == most}, nil
}

// counted is a statement of a step, and whether the rows that it changes count as removed.
type counted struct {
	sql   string
	count bool
}

// oldRow is a row that a step looks at.
type oldRow struct {
	seq int64
	id  string
}

// pruneRows looks at the next rows in the order of their seq. The statements take a time and a list of ids.
func (db *DB) pruneRows(ctx context.Context, p ledger.Prune, read string, remove ...counted) (ledger.Pruned, error) {
	after := int64(0)
	if p.After != "" {
		var err error
		if after, err = strconv.ParseInt(p.After, 10, 64); err != nil {
			return ledger.Pruned{}, fmt.Errorf("prune %s: place of the last step: %w", p.Kind, err)
		}
	}
	rows, err := all(ctx, db, read, []any{after, micros(p.Before), pruneMost}, func(row Row) (r oldRow, err error) {
		err = row.Scan(&r.seq, &r.id)
		return r, err
	})
	if err != nil || len(rows) == 0 {
		return ledger.Pruned{}, err
	}
	ids := make([]string, 0, pruneMost)
	for _, r := range rows {
		ids = append(ids, r.id)
	}
	args := append([]any{micros(p.Before)}, listArgs(ids, pruneMost)...)
	changed := make([]int64, len(remove))
	var write Write
	for i, r := range remove {
		write = append(write, Statement{SQL: r.sql, Args: append([]any(nil), args...), Changed: &changed[i]})
	}
	if err := db.write(ctx, write); err != nil {
		return ledger.Pruned{}, err
	}
	done := ledger.Pruned{Next: strconv.FormatInt(rows[len(rows)-1].seq, 10), More: len(rows) == pruneMost}
	for i, r := range remove {
		if r.count {
			done.Removed += int(changed[i])
		}
	}
	return done, nil
}

// listArgs are the arguments of a list of n places; those that are left over repeat the last id.
func listArgs(ids []string, n int) []any {
	args := make([]any, n)
	for i := range args {
		args[i] = ids[min(i, len(ids)-1)]
	}
	return args
}

// sessionsMost is how many sessions one step looks at. It removes at most [pruneMost] rows of each table that they own.
const sessionsMost = 50

// sessionPruning are the statements of a step that removes sessions.
type sessionPruning struct {
	read string
	// The first hides a conversation before its messages go in several steps, and makes a writer that has read the session fail.
	// The events' keys stay for ever.
	hide, messages, events, runs, approvals, media, sessions string
}

// newSessionPruning makes the statements for the ended sessions of which the condition holds. old takes the time twice.
func newSessionPruning(condition, old string) sessionPruning {
	gone := condition + ` AND ` + old + ` AND id IN ` + placeholders(sessionsMost) + `
		AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.session_id = sessions.id AND r.` + openRuns + `)
		AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.session_id = sessions.id AND a.status = 'pending')
		AND NOT EXISTS (SELECT 1 FROM exchanges x WHERE x.requester = sessions.id AND x.ended = 0)
		AND NOT EXISTS (SELECT 1 FROM exchanges x WHERE x.target = sessions.id AND x.ended = 0)
		AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.session_id = sessions.id AND d.` + undoneDeliveries + `)
		AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.spawned_by = sessions.id AND c.spawned_by <> '' AND c.ended = 0)`
	owned := ` WHERE session_id IN (SELECT id FROM sessions WHERE ` + gone + `)`
	limit := ` LIMIT ` + strconv.Itoa(pruneMost)
	someRuns := `SELECT seq FROM runs` + owned + ` ORDER BY seq` + limit
	return sessionPruning{
		read:      `SELECT id FROM sessions WHERE ` + condition + ` AND id > ? ORDER BY id LIMIT ` + strconv.Itoa(sessionsMost),
		hide:      `UPDATE sessions SET head = '', compacted = '', revision = revision + 1 WHERE head <> '' AND ` + gone,
		messages:  `DELETE FROM messages WHERE seq IN (SELECT seq FROM messages` + owned + limit + `)`,
		events:    `UPDATE events SET run_id = '' WHERE event_key IN (SELECT event_key FROM runs WHERE seq IN (` + someRuns + `))`,
		runs:      `DELETE FROM runs WHERE seq IN (` + someRuns + `)`,
		approvals: `DELETE FROM approvals WHERE id IN (SELECT id FROM approvals` + owned + limit + `)`,
		media:     `DELETE FROM media WHERE id IN (SELECT id FROM media` + owned + ` LIMIT ` + strconv.Itoa(mediaMost) + `)`,
		sessions: `DELETE FROM sessions WHERE ` + gone + ` AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.session_id = sessions.id)
			AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.session_id = sessions.id)
			AND NOT EXISTS (SELECT 1 FROM media f WHERE f.session_id = sessions.id)
			AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.session_id = sessions.id)`,
	}
}

var (
	// archivedSessions are those of sub-agents. They are kept for a while after they have ended.
	archivedSessions = newSessionPruning(`ended > 0 AND spawned_by <> ''`, `ended < ? AND last_activity < ?`)
	// endedSessions are all others. Their age is that of what happened last in them, as nobody can go on with them.
	endedSessions = newSessionPruning(`ended > 0 AND spawned_by = ''`, `last_activity < ? AND `+lastAccepted+` < ?`)
)

// pruneSessions looks at the next ended sessions in the order of their ids. While one of them has rows left, the next step looks at the same sessions.
func (db *DB) pruneSessions(ctx context.Context, p ledger.Prune, s *sessionPruning) (ledger.Pruned, error) {
	ids, err := all(ctx, db, s.read, []any{p.After}, func(row Row) (id string, err error) {
		err = row.Scan(&id)
		return id, err
	})
	if err != nil || len(ids) == 0 {
		return ledger.Pruned{}, err
	}
	var hidden, emptied, messages, runs, approvals, media, gone int64
	step := func(sql string, changed *int64) Statement { return sessionStep(sql, p.Before, ids, changed) }
	err = db.write(ctx, Write{
		step(s.hide, &hidden), step(s.messages, &messages), step(s.events, &emptied), step(s.runs, &runs),
		step(s.approvals, &approvals), step(s.media, &media), step(s.sessions, &gone),
	})
	if err != nil {
		return ledger.Pruned{}, err
	}
	done := ledger.Pruned{Removed: int(messages + runs + approvals + media + gone), Next: ids[len(ids)-1], More: len(ids) == sessionsMost}
	if max(messages, runs, approvals) == pruneMost || media == mediaMost {
		done.Next, done.More = p.After, true
	}
	return done, nil
}

func sessionStep(sql string, before time.Time, ids []string, changed *int64) Statement {
	args := append([]any{micros(before), micros(before)}, listArgs(ids, sessionsMost)...)
	return Statement{SQL: sql, Args: args, Changed: changed}
}
