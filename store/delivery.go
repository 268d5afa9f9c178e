package store

import (
	"context"
	"errors"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	deliveryColumns = `seq, id, lane, partition_no, kind, route, body, level, trust, session_id, run_id, idempotency, resend_of, status,
		epoch, attempts, next_try, expires, chunks, receipts, preview_id, decision, last_error, created, finished,
		sent_at, lost_preview, buttons, files, controls, asks, revises`
	insertDelivery = `INSERT INTO deliveries (id, lane, partition_no, kind, route, body, level, trust, session_id, run_id, idempotency,
		resend_of, status, epoch, attempts, next_try, expires, chunks, receipts, preview_id, decision, last_error, created, finished, channel,
		sent_at, lost_preview, buttons, files, controls, asks, revises)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	// openDeliveries is the condition of the partial index that keeps looking for work independent of what is stored.
	openDeliveries = `status IN ('queued', 'sending')`
	// previews is that of the index of previews. It is a list, with a status that none
	// has, because SQLite plans "status = ?" again at every run if an index has "status = 'preview'".
	previews = `status IN ('preview', '')`
	// undoneDeliveries is that of the index over what a person may have to look at.
	undoneDeliveries = `status NOT IN ('sent', 'discarded')`
	// owedDeliveries is that of the index over what a session has that nobody works on and a person may still settle. Ordinary deliveries are never in it.
	owedDeliveries = `status IN ('held', 'blocked', 'failed', 'unknown', 'expired')`
	moveDelivery   = `UPDATE deliveries SET lane = ?, partition_no = ?, kind = ?, route = ?, body = ?, level = ?, trust = ?, status = ?,
		epoch = ?, attempts = ?, next_try = ?, expires = ?, chunks = ?, receipts = ?, preview_id = ?, decision = ?, last_error = ?, finished = ?,
		resend_of = ?, sent_at = ?, lost_preview = ? WHERE id = ? AND status = ? AND attempts <= ? AND epoch <= ?` + fence
)

// deliveryValues are the columns that both an insert and a move write.
func (b *writer) deliveryTexts(d ledger.Delivery) (chunks, receipts, decision string) {
	if len(d.Chunks) > 0 {
		chunks = b.text(d.Chunks)
	}
	if len(d.Receipts) > 0 {
		receipts = b.text(d.Receipts)
	}
	if d.Decision != nil {
		decision = b.text(d.Decision)
	}
	return chunks, receipts, decision
}

func (b *writer) deliver(d ledger.Delivery) {
	level, trust := label(d.Label)
	var buttons, files, controls string
	if len(d.Controls) > 0 {
		controls = b.text(d.Controls)
	}
	if len(d.Buttons) > 0 {
		buttons = b.text(d.Buttons)
	}
	if len(d.Files) > 0 {
		files = b.text(d.Files)
	}
	chunks, receipts, decision := b.deliveryTexts(d)
	b.add(Statement{SQL: insertDelivery, Duplicate: sessions.ErrDuplicate, Args: []any{
		string(d.ID), indexed(d.Lane), d.Partition, string(d.Kind), b.route(d.Route), d.Text, level, trust, string(d.Session), string(d.Run),
		indexed(d.Idempotency), string(d.ResendOf), string(d.Status), d.Epoch, d.Attempts, micros(d.NextTry), micros(d.Expires),
		chunks, receipts, string(d.PreviewID), decision, d.LastError, micros(d.Created), micros(d.Finished), d.Route.Channel,
		micros(d.SentAt), d.LostPreview, buttons, files, controls, string(d.Asks), string(d.Revises),
	}})
}

func (b *writer) retire(id ledger.DeliveryID) {
	b.add(Statement{SQL: `UPDATE deliveries SET asks = '' WHERE id = ? AND asks <> ''`, Else: sessions.ErrConflict, Args: []any{string(id)}})
}

func (b *writer) moveDelivery(m ledger.DeliveryMove) {
	d := m.Delivery
	level, trust := label(d.Label)
	chunks, receipts, decision := b.deliveryTexts(d)
	b.add(Statement{SQL: moveDelivery, Else: sessions.ErrConflict, Args: []any{
		indexed(d.Lane), d.Partition, string(d.Kind), b.route(d.Route), d.Text, level, trust, string(d.Status),
		d.Epoch, d.Attempts, micros(d.NextTry), micros(d.Expires), chunks, receipts, string(d.PreviewID), decision, d.LastError, micros(d.Finished),
		string(d.ResendOf), micros(d.SentAt), d.LostPreview, string(d.ID), string(m.From), d.Attempts, guard(d.Epoch), d.Epoch, d.Partition, d.Epoch,
	}})
}

func scanDelivery(row Row) (ledger.Delivery, error) {
	var d ledger.Delivery
	var id, lane, kind, route, session, run, resend, status, chunks, receipts, preview, decision, buttons, files, controls, asks, revises string
	var level, trust int
	var next, expires, created, finished, sent int64
	err := row.Scan(&d.Seq, &id, &lane, &d.Partition, &kind, &route, &d.Text, &level, &trust, &session, &run, &d.Idempotency, &resend, &status,
		&d.Epoch, &d.Attempts, &next, &expires, &chunks, &receipts, &preview, &decision, &d.LastError, &created, &finished,
		&sent, &d.LostPreview, &buttons, &files, &controls, &asks, &revises)
	if err != nil {
		return d, err
	}
	d.ID, d.Lane, d.Kind, d.Status = ledger.DeliveryID(id), sessions.Lane(lane), ledger.DeliveryKind(kind), ledger.DeliveryStatus(status)
	d.Session, d.Run, d.ResendOf = sessions.ID(session), sessions.RunID(run), ledger.DeliveryID(resend)
	d.PreviewID, d.Label = sessions.PlatformMessageID(preview), labelFrom(level, trust)
	d.NextTry, d.Expires, d.Created, d.Finished = fromMicros(next), fromMicros(expires), fromMicros(created), fromMicros(finished)
	d.SentAt, d.Asks, d.Revises = fromMicros(sent), ledger.Question(asks), ledger.DeliveryID(revises)
	var dec decoding
	dec.into(route, &d.Route)
	dec.into(chunks, &d.Chunks)
	dec.into(receipts, &d.Receipts)
	dec.into(decision, &d.Decision)
	dec.into(buttons, &d.Buttons)
	dec.into(controls, &d.Controls)
	dec.into(files, &d.Files)
	return d, dec.err
}

// LaneDeliveries implements [ledger.Store].
func (db *DB) LaneDeliveries(ctx context.Context, lane sessions.Lane, limit int) ([]ledger.Delivery, error) {
	return all(ctx, db, `SELECT `+deliveryColumns+` FROM deliveries WHERE lane = ? AND `+openDeliveries+` ORDER BY seq`+most(limit),
		[]any{indexed(lane)}, scanDelivery)
}

// HeldDeliveries implements [ledger.Store].
func (db *DB) HeldDeliveries(ctx context.Context, now time.Time, limit int) ([]ledger.Delivery, error) {
	return all(ctx, db, `SELECT `+deliveryColumns+` FROM deliveries WHERE status = 'held' AND `+undoneDeliveries+` AND next_try <= ? ORDER BY seq`+most(limit),
		[]any{micros(now)}, scanDelivery)
}

// DecidedQuestions implements [ledger.Store].
func (db *DB) DecidedQuestions(ctx context.Context, now time.Time, limit int) ([]ledger.Delivery, error) {
	return all(ctx, db, `SELECT `+deliveryColumns+` FROM deliveries WHERE asks <> '' AND status NOT IN ('preview', 'queued', 'sending', 'held')
		AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.id = deliveries.asks AND a.status = 'pending')
		AND NOT EXISTS (SELECT 1 FROM pairings p WHERE p.status = 'pending' AND p.expires > ? AND p.code <> ''
			AND 'pair/' || p.code || '/' || p.channel || '/' || p.account || '/' || p.user_id = deliveries.asks)
		ORDER BY seq`+most(limit), []any{micros(now)}, scanDelivery)
}

// RunDelivery implements [ledger.Store].
func (db *DB) RunDelivery(ctx context.Context, run sessions.RunID) (ledger.Delivery, error) {
	return single(ctx, db, `SELECT `+deliveryColumns+` FROM deliveries WHERE run_id = ? AND `+previews, []any{string(run)}, scanDelivery)
}

// WithheldAnswer implements [ledger.Store]. The first statement has the words of the index of what is withheld.
func (db *DB) WithheldAnswer(ctx context.Context, session sessions.ID, run sessions.RunID) (ledger.Delivery, error) {
	const answer = ` AND run_id = ? AND kind IN ('reply', 'command') AND idempotency = '' LIMIT 1`
	d, err := single(ctx, db, `SELECT `+deliveryColumns+` FROM deliveries WHERE status IN ('held', 'blocked', 'expired')`+answer, []any{string(run)}, scanDelivery)
	if !errors.Is(err, sessions.ErrNotFound) {
		return d, err
	}
	return single(ctx, db, `SELECT `+deliveryColumns+` FROM deliveries WHERE id IN (SELECT delivery_id FROM approvals WHERE session_id = ? AND delivery_id <> '')`+answer,
		[]any{string(session), string(run)}, scanDelivery)
}

// Delivery implements [ledger.Store].
func (db *DB) Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error) {
	return single(ctx, db, `SELECT `+deliveryColumns+` FROM deliveries WHERE id = ?`, []any{string(id)}, scanDelivery)
}

// DeliveryByIdempotency implements [ledger.Store].
func (db *DB) DeliveryByIdempotency(ctx context.Context, key string) (ledger.Delivery, error) {
	return single(ctx, db, `SELECT `+deliveryColumns+` FROM deliveries WHERE idempotency = ? AND idempotency <> ''`, []any{indexed(key)}, scanDelivery)
}

func undone(status string) bool {
	s := ledger.DeliveryStatus(status)
	return s != "" && s != ledger.DeliverySent && s != ledger.DeliveryDiscarded
}

// ListDeliveries implements [ledger.Browser].
func (db *DB) ListDeliveries(ctx context.Context, q ledger.Query) ([]ledger.Delivery, error) {
	f := filter{}
	f.within(q.MaxLevel, "deliveries", "session_id")
	f.addIf(q.Status != "", `status = ?`, q.Status)
	f.addIf(undone(q.Status), undoneDeliveries)
	f.addIf(q.Session != "", `session_id = ?`, string(q.Session))
	f.addIf(q.Channel != "", `channel = ?`, q.Channel)
	f.addIf(q.NoReplies, `kind <> 'reply'`)
	f.after(q.After, q.MaxLevel, "deliveries")
	return listed(ctx, db, q.Bound, page(q.Limit), `SELECT `+deliveryColumns+` FROM deliveries`+f.where()+` ORDER BY seq DESC`, f.args, scanDelivery)
}

// CountDeliveries implements [ledger.Browser].
func (db *DB) CountDeliveries(ctx context.Context, most flow.Level) (map[ledger.DeliveryStatus]int, error) {
	counts := map[ledger.DeliveryStatus]int{}
	f := filter{}
	f.within(most, "deliveries", "session_id")
	f.add(undoneDeliveries)
	err := db.query(ctx, `SELECT status, count(*) FROM deliveries`+f.where()+` GROUP BY status`, f.args,
		func(row Row) error {
			var status string
			var n int
			err := row.Scan(&status, &n)
			counts[ledger.DeliveryStatus(status)] = n
			return err
		})
	return counts, err
}
