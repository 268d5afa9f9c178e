package store

import (
	"context"
	"strconv"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	triggerColumns = `trigger_key, revision, source, subject, partition_no, status, due, level, trust, body, created, fired, ended`
	insertTrigger  = `INSERT INTO triggers (` + triggerColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (trigger_key) DO UPDATE SET revision = excluded.revision, partition_no = excluded.partition_no, status = excluded.status, due = excluded.due,
			level = excluded.level, trust = excluded.trust, body = excluded.body, created = excluded.created, fired = excluded.fired, ended = excluded.ended
		WHERE triggers.status = 'withdrawn'`
	moveTrigger = `UPDATE triggers SET revision = ?, status = ?, due = ?, level = ?, trust = ?, body = ?, fired = ?, ended = ?
		WHERE trigger_key = ? AND revision = ?` + engine.Fence
	// openTriggers is the condition of the partial index that finds what is due, however much is stored.
	openTriggers = `status IN ('waiting', 'running', 'delivering')`
	// wakeTrigger makes the trigger of a run due when the run ends. The new revision keeps the trigger's owner, who may just look
	// whether the run works, from storing a later time.
	wakeTrigger = `UPDATE triggers SET due = ?, revision = revision + 1 WHERE trigger_key = ? AND status = 'running'`
)

func (b *writer) trigger(t ledger.Trigger) {
	level, trust := engine.Label(t.Label)
	if t.Revision == 1 {
		b.add(engine.Statement{SQL: insertTrigger, Else: sessions.ErrDuplicate, Args: []any{
			engine.Indexed(t.Key), t.Revision, string(t.Source), engine.Indexed(t.Subject), t.Partition, string(t.Status), engine.Micros(t.Due),
			level, trust, b.Text(t.TriggerDetail), engine.Micros(t.Created), engine.Micros(t.Fired), engine.Micros(t.Ended),
		}})
		return
	}
	b.add(engine.Statement{SQL: moveTrigger, Else: sessions.ErrConflict, Args: []any{
		t.Revision, string(t.Status), engine.Micros(t.Due), level, trust, b.Text(t.TriggerDetail), engine.Micros(t.Fired), engine.Micros(t.Ended),
		engine.Indexed(t.Key), t.Revision - 1, t.Epoch, t.Partition, t.Epoch,
	}})
}

// TriggersOf implements [ledger.Store].
func (db triggerTable) TriggersOf(ctx context.Context, keys []string) ([]ledger.Trigger, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	const most = pruneMax // a fixed number, so that the statement stays prepared
	fit := make([]string, 0, most)
	for _, key := range keys[:min(len(keys), most)] {
		fit = append(fit, engine.Indexed(key))
	}
	return engine.All(ctx, db.Conn, `SELECT `+triggerColumns+` FROM triggers WHERE trigger_key IN `+pruneList, listArgs(fit, most), scanTrigger)
}

func scanTrigger(row engine.Row) (ledger.Trigger, error) {
	var t ledger.Trigger
	var source, status, body string
	var level, trust int
	var due, created, fired, ended int64
	if err := row.Scan(&t.Key, &t.Revision, &source, &t.Subject, &t.Partition, &status, &due, &level, &trust, &body, &created, &fired, &ended); err != nil {
		return t, err
	}
	var d engine.Decoding
	d.Into(body, &t.TriggerDetail)
	t.Source, t.Status, t.Label = ledger.TriggerSource(source), ledger.TriggerStatus(status), engine.LabelFrom(level, trust)
	t.Due, t.Created, t.Fired, t.Ended = engine.FromMicros(due), engine.FromMicros(created), engine.FromMicros(fired), engine.FromMicros(ended)
	return t, d.Err
}

// OpenTriggers implements [ledger.Store].
func (db triggerTable) OpenTriggers(ctx context.Context, partition, limit int) ([]ledger.Trigger, error) {
	return engine.All(ctx, db.Conn, `SELECT `+triggerColumns+` FROM triggers WHERE partition_no = ? AND `+openTriggers+` ORDER BY due LIMIT `+strconv.Itoa(limit),
		[]any{partition}, scanTrigger)
}

// EndedTriggers implements [ledger.Store].
func (db triggerTable) EndedTriggers(ctx context.Context, q ledger.EndedTriggers) ([]ledger.Trigger, error) {
	return engine.All(ctx, db.Conn, `SELECT `+triggerColumns+` FROM triggers WHERE source = ? AND subject = ? AND ended > 0 ORDER BY ended DESC, trigger_key DESC LIMIT `+strconv.Itoa(q.Limit),
		[]any{string(q.Source), engine.Indexed(q.Subject)}, scanTrigger)
}
