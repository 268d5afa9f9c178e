package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
	"sluice/store/views"
)

const (
	deliveryColumns = `seq, id, lane, partition_no, kind, route, body, level, trust, session_id, run_id, idempotency, resend_of, status,
		epoch, attempts, next_try, expires, chunks, receipts, preview_id, decision, last_error, created, finished,
		sent_at, lost_preview, buttons, files, controls, asks, revises`
	intoDeliveries = `INSERT INTO deliveries (id, lane, partition_no, kind, route, body, level, trust, session_id, run_id, idempotency,
		resend_of, status, epoch, attempts, next_try, expires, chunks, receipts, preview_id, decision, last_error, created, finished, channel,
		sent_at, lost_preview, buttons, files, controls, asks, revises) `
	deliveryMarks  = `?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?`
	insertDelivery = intoDeliveries + `VALUES (` + deliveryMarks + `)`
	beginDelivery  = intoDeliveries + `SELECT ` + deliveryMarks + ` WHERE NOT EXISTS (SELECT 1 FROM deliveries o WHERE o.lane = ? AND ` + openDeliveries + `)` + engine.Fence
	// openDeliveries is the condition of the partial index that finds open work, however much is stored.
	openDeliveries = `status IN ('queued', 'sending')`
	// previews is the condition of the index of previews. It is a list with an unused status because SQLite plans
	// "status = ?" again at every run if an index has "status = 'preview'".
	previews = `status IN ('preview', '')`
	// undoneDeliveries is the condition of the index of deliveries that may need a person.
	undoneDeliveries = `status NOT IN ('sent', 'discarded')`
	// owedDeliveries is the condition of the index of deliveries that only a person can settle. Ordinary deliveries
	// are never in it.
	owedDeliveries = `status IN ('held', 'blocked', 'failed', 'unknown', 'expired')`
	moveDelivery   = `UPDATE deliveries SET lane = ?, partition_no = ?, kind = ?, route = ?, body = ?, level = ?, trust = ?, status = ?,
		epoch = ?, attempts = ?, next_try = ?, expires = ?, chunks = ?, receipts = ?, preview_id = ?, decision = ?, last_error = ?, finished = ?,
		resend_of = ?, sent_at = ?, lost_preview = ?, files = ? WHERE id = ? AND status = ? AND attempts <= ? AND epoch <= ?` + engine.Fence
)

// deliveryTexts encodes the lists and the decision, for inserts and for moves.
func (b *writer) deliveryTexts(d ledger.Delivery) (chunks, receipts, decision string) {
	if len(d.Parts) > 0 {
		chunks = b.Text(d.Parts)
	}
	if len(d.Receipts) > 0 {
		receipts = b.Text(d.Receipts)
	}
	if d.Decision != nil {
		decision = b.Text(d.Decision)
	}
	return chunks, receipts, decision
}

func (b *writer) deliver(d ledger.Delivery) {
	b.add(engine.Statement{SQL: insertDelivery, Duplicate: sessions.ErrDuplicate, Args: b.deliveryValues(d)})
}

// beginDelivery inserts a delivery as sending if it is the next of its lane and the sender owns the lane.
func (b *writer) beginDelivery(d ledger.Delivery) {
	args := append(b.deliveryValues(d), engine.Indexed(d.Lane), d.Epoch, d.Partition, d.Epoch)
	b.add(engine.Statement{SQL: beginDelivery, Duplicate: sessions.ErrDuplicate, Else: sessions.ErrConflict, Args: args})
}

// deliveryValues returns the values of all columns except the sequence number.
func (b *writer) deliveryValues(d ledger.Delivery) []any {
	level, trust := engine.Label(d.Label)
	var buttons, controls string
	if len(d.Controls) > 0 {
		controls = b.Text(d.Controls)
	}
	if len(d.Buttons) > 0 {
		buttons = b.Text(d.Buttons)
	}
	chunks, receipts, decision := b.deliveryTexts(d)
	return []any{
		string(d.ID), engine.Indexed(d.Lane), d.Partition, string(d.Kind), b.route(d.Route), d.Text, level, trust, string(d.Session), string(d.Run),
		engine.Indexed(d.Idempotency), string(d.ResendOf), string(d.Status), d.Epoch, d.Attempts, engine.Micros(d.NextTry), engine.Micros(d.Expires),
		chunks, receipts, string(d.PreviewID), decision, d.LastError, engine.Micros(d.Created), engine.Micros(d.Finished), d.Route.Channel,
		engine.Micros(d.SentAt), d.LostPreview, buttons, b.files(d), controls, string(d.Asks), string(d.Revises),
	}
}

func (b *writer) files(d ledger.Delivery) string {
	if len(d.Files) == 0 {
		return ""
	}
	return b.Text(d.Files)
}

func (b *writer) retire(id ledger.DeliveryID) {
	b.add(engine.Statement{SQL: `UPDATE deliveries SET asks = '' WHERE id = ? AND asks <> ''`, Else: sessions.ErrConflict, Args: []any{string(id)}})
}

func (b *writer) moveDelivery(m ledger.DeliveryMove) {
	d := m.Delivery
	level, trust := engine.Label(d.Label)
	chunks, receipts, decision := b.deliveryTexts(d)
	fence := d.Epoch
	if m.Late {
		fence = 0
	}
	b.add(engine.Statement{SQL: moveDelivery, Else: sessions.ErrConflict, Args: []any{
		engine.Indexed(d.Lane), d.Partition, string(d.Kind), b.route(d.Route), d.Text, level, trust, string(d.Status),
		d.Epoch, d.Attempts, engine.Micros(d.NextTry), engine.Micros(d.Expires), chunks, receipts, string(d.PreviewID), decision, d.LastError, engine.Micros(d.Finished),
		string(d.ResendOf), engine.Micros(d.SentAt), d.LostPreview, b.files(d), string(d.ID), string(m.From), d.Attempts, guard(d.Epoch), fence, d.Partition, fence,
	}})
}

func scanDelivery(row engine.Row) (ledger.Delivery, error) {
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
	d.PreviewID, d.Label = sessions.PlatformMessageID(preview), engine.LabelFrom(level, trust)
	d.NextTry, d.Expires, d.Created, d.Finished = engine.FromMicros(next), engine.FromMicros(expires), engine.FromMicros(created), engine.FromMicros(finished)
	d.SentAt, d.Asks, d.Revises = engine.FromMicros(sent), ledger.Question(asks), ledger.DeliveryID(revises)
	var dec engine.Decoding
	dec.Into(route, &d.Route)
	dec.Into(chunks, &d.Parts)
	dec.Into(receipts, &d.Receipts)
	dec.Into(decision, &d.Decision)
	dec.Into(buttons, &d.Buttons)
	dec.Into(controls, &d.Controls)
	dec.Into(files, &d.Files)
	return d, dec.Err
}

// LaneDeliveries implements [ledger.Store].
func (db deliveryTable) LaneDeliveries(ctx context.Context, lane sessions.Lane, limit int) ([]ledger.Delivery, error) {
	return engine.All(ctx, db.Conn, `SELECT `+deliveryColumns+` FROM deliveries WHERE lane = ? AND `+openDeliveries+` ORDER BY seq`+engine.Limit(limit),
		[]any{engine.Indexed(lane)}, scanDelivery)
}

// HeldDeliveries implements [ledger.Store].
func (db deliveryTable) HeldDeliveries(ctx context.Context, now time.Time, limit int) ([]ledger.Delivery, error) {
	return engine.All(ctx, db.Conn, `SELECT `+deliveryColumns+` FROM deliveries WHERE status = 'held' AND `+undoneDeliveries+` AND next_try <= ? ORDER BY seq`+engine.Limit(limit),
		[]any{engine.Micros(now)}, scanDelivery)
}

// DecidedQuestions implements [ledger.Store].
func (db deliveryTable) DecidedQuestions(ctx context.Context, now time.Time, limit int) ([]ledger.Delivery, error) {
	return engine.All(ctx, db.Conn, `SELECT `+deliveryColumns+` FROM deliveries WHERE asks <> '' AND status NOT IN ('preview', 'queued', 'sending', 'held')
		AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.id = deliveries.asks AND a.status = 'pending')
		AND NOT EXISTS (SELECT 1 FROM pairings p WHERE p.status = 'pending' AND p.expires > ? AND p.code <> ''
			AND 'pair/' || p.code || '/' || p.channel || '/' || p.account || '/' || p.user_id = deliveries.asks)
		AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.status = 'pending' AND n.expires > ? AND n.code <> '' AND 'node/' || n.code || '/' || n.id = deliveries.asks)
		ORDER BY seq`+engine.Limit(limit), []any{engine.Micros(now), engine.Micros(now)}, scanDelivery)
}

// RunDelivery implements [ledger.Store].
func (db deliveryTable) RunDelivery(ctx context.Context, run sessions.RunID) (ledger.Delivery, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+deliveryColumns+` FROM deliveries WHERE run_id = ? AND `+previews, []any{string(run)}, scanDelivery)
}

// WithheldAnswer implements [ledger.Store].
func (db deliveryTable) WithheldAnswer(ctx context.Context, session sessions.ID, run sessions.RunID) (ledger.Delivery, error) {
	const answer = ` AND run_id = ? AND kind IN ('reply', 'command') AND idempotency = '' LIMIT 1`
	d, err := engine.Single(ctx, db.Conn, `SELECT `+deliveryColumns+` FROM deliveries WHERE status IN ('held', 'blocked', 'expired')`+answer, []any{string(run)}, scanDelivery)
	if !errors.Is(err, sessions.ErrNotFound) {
		return d, err
	}
	return engine.Single(ctx, db.Conn, `SELECT `+deliveryColumns+` FROM deliveries WHERE id IN (SELECT delivery_id FROM approvals WHERE session_id = ? AND delivery_id <> '')`+answer,
		[]any{string(session), string(run)}, scanDelivery)
}

// Delivery implements [ledger.Store].
func (db deliveryTable) Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+deliveryColumns+` FROM deliveries WHERE id = ?`, []any{string(id)}, scanDelivery)
}

// DeliveryByIdempotency implements [ledger.Store].
func (db deliveryTable) DeliveryByIdempotency(ctx context.Context, key string) (ledger.Delivery, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+deliveryColumns+` FROM deliveries WHERE idempotency = ? AND idempotency <> ''`, []any{engine.Indexed(key)}, scanDelivery)
}

func undone(status string) bool {
	s := ledger.DeliveryStatus(status)
	return s != "" && s != ledger.DeliverySent && s != ledger.DeliveryDiscarded
}

// ListDeliveries implements [ledger.Browser].
func (db deliveryTable) ListDeliveries(ctx context.Context, q ledger.Query) ([]ledger.Delivery, error) {
	f := deliveriesOf(q)
	f.After(q.After, q.MaxLevel, "deliveries")
	return views.Deliveries(ctx, db.Conn, q, f, deliveryColumns, scanDelivery)
}

// CountDeliveriesOf implements [ledger.Browser].
func (db deliveryTable) CountDeliveriesOf(ctx context.Context, q ledger.Query, limit int) (int, error) {
	return views.CountDeliveries(ctx, db.Conn, q, deliveriesOf(q), limit)
}

// deliveriesOf are the conditions of a query that an index serves.
func deliveriesOf(q ledger.Query) engine.Filter {
	f := engine.Filter{}
	f.Within(q.MaxLevel, "deliveries", "session_id")
	f.AddIf(q.Status != "", `status = ?`, q.Status)
	f.AddIf(undone(q.Status), undoneDeliveries)
	f.AddIf(q.Session != "", `session_id = ?`, string(q.Session))
	f.AddIf(q.Channel != "", `channel = ?`, q.Channel)
	f.AddIf(q.NoReplies, `kind <> 'reply'`)
	return f
}

// CountDeliveries implements [ledger.Browser].
func (db deliveryTable) CountDeliveries(ctx context.Context, most flow.Level) (map[ledger.DeliveryStatus]int, error) {
	counts := map[ledger.DeliveryStatus]int{}
	f := engine.Filter{}
	f.Within(most, "deliveries", "session_id")
	f.Add(undoneDeliveries)
	err := db.Query(ctx, `SELECT status, count(*) FROM deliveries`+f.Where()+` GROUP BY status`, f.Args,
		func(row engine.Row) error {
			var status string
			var n int
			err := row.Scan(&status, &n)
			counts[ledger.DeliveryStatus(status)] = n
			return err
		})
	return counts, err
}

// postedMax is how many of the newest deliveries are searched for a message. Messages have no index: reactions are
// rare, and every delivery would pay for it.
const postedMax = 500

// Posted implements [ledger.Store].
func (db deliveryTable) Posted(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (ledger.Delivery, error) {
	found, err := engine.All(ctx, db.Conn, `SELECT `+deliveryColumns+` FROM deliveries WHERE seq > (SELECT max(seq) FROM deliveries) - ? AND lane = ?
		AND receipts <> '' ORDER BY seq DESC`, []any{postedMax, engine.Indexed(lane)}, scanDelivery)
	if err != nil {
		return ledger.Delivery{}, err
	}
	shows := func(r adapters.Receipt) bool { return r.MessageID == message }
	i := slices.IndexFunc(found, func(d ledger.Delivery) bool { return slices.ContainsFunc(d.Receipts, shows) })
	if i < 0 {
		return ledger.Delivery{}, sessions.ErrNotFound
	}
	return found[i], nil
}
