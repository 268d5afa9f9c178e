package store

import (
	"context"
	"strings"

	"sluice/router"
)

// pruneMost is how many rows one step looks at; a fixed number, so that its statements stay prepared.
const pruneMost = 200

var pruneList = `(?` + strings.Repeat(`, ?`, pruneMost-1) + `)`

// What is removed is chosen again in the statement that removes it: a row may have changed since it was read.
var (
	oldDeliveries = `SELECT seq, id, '' FROM deliveries WHERE seq > ? AND created < ? ORDER BY seq LIMIT ?`
	oldRuns       = `SELECT seq, id, event_key FROM runs WHERE seq > ? AND accepted < ? ORDER BY seq LIMIT ?`
	// A delivery whose idempotency key somebody may repeat keeps its row, without what it said.
	forgetDelivery = `UPDATE deliveries SET body = '', chunks = '', receipts = '', decision = '', buttons = '', files = '', last_error = ''
		WHERE idempotency <> '' AND status IN ('sent', 'discarded') AND finished > 0 AND finished < ? AND id IN ` + pruneList
	removeDelivery = `DELETE FROM deliveries WHERE idempotency = '' AND status IN ('sent', 'discarded') AND finished > 0 AND finished < ? AND id IN ` + pruneList
	// A run stays while an exchange names it, while an answer of it is still to be sent or looked at, and while it is the
	// last one in its session that a person has caused.
	prunableRun = `status NOT IN ('queued', 'running') AND finished > 0 AND finished < ? AND exchange_id = ''
		AND id NOT IN (SELECT d.run_id FROM deliveries d WHERE d.status NOT IN ('sent', 'discarded'))
		AND EXISTS (SELECT 1 FROM runs n WHERE n.session_id = runs.session_id AND n.seq > runs.seq AND n.kind = 'message')
		AND id IN ` + pruneList
	// The event's key stays for ever: it is what makes a repeat a repeat.
	forgetEvents = `UPDATE events SET session_id = '', run_id = '', notice_id = '' WHERE accepted < ?
		AND event_key IN (SELECT event_key FROM runs WHERE ` + prunableRun + `)`
	removeRuns = `DELETE FROM runs WHERE ` + prunableRun
)

type oldRow struct {
	seq int64
	id  string
}

// Prune implements [router.Store].
func (db *DB) Prune(ctx context.Context, p router.Prune) (router.Pruned, error) {
	read := oldDeliveries
	if p.Kind == router.PruneRuns {
		read = oldRuns
	}
	rows, err := all(ctx, db, read, []any{p.After, micros(p.Before), pruneMost}, func(row Row) (oldRow, error) {
		var r oldRow
		var key string
		err := row.Scan(&r.seq, &r.id, &key)
		return r, err
	})
	if err != nil || len(rows) == 0 {
		return router.Pruned{}, err
	}
	done := router.Pruned{Looked: len(rows), Next: rows[len(rows)-1].seq, More: len(rows) == pruneMost}
	args := []any{micros(p.Before)}
	for i := range pruneMost {
		args = append(args, rows[min(i, len(rows)-1)].id)
	}
	write := Write{{SQL: forgetDelivery, Args: args}, {SQL: removeDelivery, Args: append([]any(nil), args...)}}
	if p.Kind == router.PruneRuns {
		write = Write{{SQL: forgetEvents, Args: append([]any{micros(p.Events)}, args...)}, {SQL: removeRuns, Args: append([]any(nil), args...)}}
	}
	return done, db.write(ctx, write)
}
