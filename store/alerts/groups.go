package alerts

import (
	"context"
	"time"

	"sluice/internal/alert"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	groupColumns = `group_key, revision, partition_no, open, due, earliest, level, trust, body, created`
	// touchGroup makes a group due: a closed one as if it were new, an open one at its earliest time. It counts as a
	// change, so that a decision that has not seen the alert is not stored.
	touchGroup = `INSERT INTO alert_groups (` + groupColumns + `) VALUES (?, 1, ?, 1, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (group_key) DO UPDATE SET revision = alert_groups.revision + 1,
			due = CASE WHEN alert_groups.open = 0 OR excluded.due < alert_groups.earliest AND CAST(? AS INTEGER) = 1 THEN excluded.due WHEN alert_groups.due < alert_groups.earliest THEN alert_groups.due ELSE alert_groups.earliest END,
			earliest = CASE WHEN alert_groups.open = 0 OR excluded.due < alert_groups.earliest AND CAST(? AS INTEGER) = 1 THEN excluded.earliest ELSE alert_groups.earliest END,
			level = CASE WHEN alert_groups.open = 0 THEN excluded.level ELSE alert_groups.level END,
			trust = CASE WHEN alert_groups.open = 0 THEN excluded.trust ELSE alert_groups.trust END,
			created = CASE WHEN alert_groups.open = 0 THEN excluded.created ELSE alert_groups.created END, open = 1`
	moveGroup = `UPDATE alert_groups SET revision = ?, open = ?, due = ?, earliest = ?, level = ?, trust = ?, body = ?
		WHERE group_key = ? AND revision = ?` + engine.Fence
	joinGroup   = `INSERT INTO alert_members (group_key, alert_key) VALUES (?, ?) ON CONFLICT (group_key, alert_key) DO NOTHING`
	noteColumns = `note_key, group_key, target, seq, reason, status, delivery_id, level, trust, body, created`
	spend       = `INSERT INTO alert_budgets (target, revision) VALUES (?, 1)
		ON CONFLICT (target) DO UPDATE SET revision = alert_budgets.revision + 1 WHERE alert_budgets.revision = ?`
	// noteWithin is how far apart the times of a notification and of its delivery can be: the gate decides between them.
	noteWithin = 5 * time.Minute
	insertNote = `INSERT INTO alert_notes (` + noteColumns + `, posts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (note_key) DO NOTHING`
)

func (b *writer) touch(t *alert.Touch) {
	g := &t.Group
	level, trust := engine.Label(g.Label)
	b.add(engine.Statement{SQL: touchGroup, Args: []any{
		engine.Indexed(g.Key), g.Partition, engine.Micros(t.Due), engine.Micros(t.Due), level, trust, b.Text(g.GroupDetail), engine.Micros(g.Created), engine.Flag(t.Now), engine.Flag(t.Now),
	}})
	if t.Alert != "" {
		b.add(engine.Statement{SQL: joinGroup, Args: []any{engine.Indexed(g.Key), engine.Indexed(t.Alert)}})
	}
}

func (b *writer) alertGroup(g *alert.Group) {
	level, trust := engine.Label(g.Label)
	b.add(engine.Statement{SQL: moveGroup, Else: sessions.ErrConflict, Args: []any{
		g.Revision, engine.Flag(g.Open), engine.Micros(g.Due), engine.Micros(g.Earliest), level, trust, b.Text(g.GroupDetail),
		engine.Indexed(g.Key), g.Revision - 1, g.Epoch, g.Partition, g.Epoch,
	}})
}

func (b *writer) note(n *alert.Note) {
	level, trust := engine.Label(n.Label)
	b.add(engine.Statement{SQL: insertNote, Else: sessions.ErrDuplicate, Args: []any{
		engine.Indexed(n.Key), engine.Indexed(n.Group), engine.Indexed(n.Target), n.Sequence, string(n.Reason), string(n.Status), n.Delivery, level, trust,
		b.Text(n.NoteDetail), engine.Micros(n.Created), engine.Flag(n.Status == alert.NoteQueued && !n.Edits && !n.Free),
	}})
}

func scanGroup(row engine.Row) (alert.Group, error) {
	var g alert.Group
	var body string
	var open, level, trust int
	var due, earliest, created int64
	if err := row.Scan(&g.Key, &g.Revision, &g.Partition, &open, &due, &earliest, &level, &trust, &body, &created); err != nil {
		return g, err
	}
	var d engine.Decoding
	d.Into(body, &g.GroupDetail)
	g.Open, g.Label = open == 1, engine.LabelFrom(level, trust)
	g.Due, g.Earliest, g.Created = engine.FromMicros(due), engine.FromMicros(earliest), engine.FromMicros(created)
	return g, d.Err
}

func scanNote(row engine.Row) (alert.Note, error) {
	var n alert.Note
	var reason, status, body string
	var level, trust int
	var created int64
	if err := row.Scan(&n.Key, &n.Group, &n.Target, &n.Sequence, &reason, &status, &n.Delivery, &level, &trust, &body, &created); err != nil {
		return n, err
	}
	var d engine.Decoding
	d.Into(body, &n.NoteDetail)
	n.Reason, n.Status, n.Label, n.Created = alert.Reason(reason), alert.NoteStatus(status), engine.LabelFrom(level, trust), engine.FromMicros(created)
	return n, d.Err
}

// DueGroups implements [ledger.Store].
func (t Table) DueGroups(ctx context.Context, partition, limit int) ([]alert.Group, error) {
	return engine.All(ctx, t.Conn, `SELECT `+groupColumns+` FROM alert_groups WHERE partition_no = ? AND open = 1 ORDER BY due`+engine.Limit(limit), []any{partition}, scanGroup)
}

// AlertGroup implements [ledger.Store].
func (t Table) AlertGroup(ctx context.Context, key string) (alert.Group, error) {
	return engine.Single(ctx, t.Conn, `SELECT `+groupColumns+` FROM alert_groups WHERE group_key = ?`, []any{engine.Indexed(key)}, scanGroup)
}

// ListGroups implements [ledger.Store].
func (t Table) ListGroups(ctx context.Context, q alert.GroupQuery) ([]alert.Group, error) {
	limit := q.Limit
	if limit <= 0 || limit > alert.ListMax {
		limit = alert.ListMax
	}
	where, args := `open = 1 AND EXISTS (SELECT 1 FROM alert_members m WHERE m.group_key = alert_groups.group_key)`, []any{} // digests have no alerts
	if q.Key != "" {
		where, args = where+` AND group_key = ?`, append(args, engine.Indexed(q.Key))
	}
	if q.After != "" {
		where += ` AND (created, group_key) < (SELECT created, group_key FROM alert_groups WHERE group_key = ?)`
		args = append(args, engine.Indexed(q.After))
	}
	return engine.All(ctx, t.Conn, `SELECT `+groupColumns+` FROM alert_groups WHERE `+where+` ORDER BY created DESC, group_key DESC`+engine.Limit(limit), args, scanGroup)
}

// GroupAlerts implements [ledger.Store].
func (t Table) GroupAlerts(ctx context.Context, group string, limit int) ([]alert.Alert, error) {
	return engine.All(ctx, t.Conn, `SELECT `+alertColumns+` FROM alerts WHERE alert_key IN (SELECT alert_key FROM alert_members WHERE group_key = ?)
		ORDER BY CASE WHEN `+openAlerts+` THEN 0 ELSE 1 END, CASE severity WHEN 'critical' THEN 0 WHEN 'error' THEN 1 WHEN 'warning' THEN 2 ELSE 3 END, updated DESC, alert_key`+engine.Limit(limit),
		[]any{engine.Indexed(group)}, scanAlert)
}

// GroupNotes implements [ledger.Store].
func (t Table) GroupNotes(ctx context.Context, group string, limit int) ([]alert.Note, error) {
	return engine.All(ctx, t.Conn, `SELECT `+noteColumns+` FROM alert_notes WHERE group_key = ? ORDER BY seq DESC`+engine.Limit(limit), []any{engine.Indexed(group)}, scanNote)
}

// NoteOf reads the notification that a delivery is the message of, or returns ErrNotFound. Both are stored together, so only those
// around the time of the delivery are looked at.
func (t Table) NoteOf(ctx context.Context, delivery string, created time.Time) (alert.Note, error) {
	return engine.Single(ctx, t.Conn, `SELECT `+noteColumns+` FROM alert_notes WHERE delivery_id = ? AND created BETWEEN ? AND ? ORDER BY created`+engine.Limit(1),
		[]any{delivery, engine.Micros(created.Add(-noteWithin)), engine.Micros(created.Add(noteWithin))}, scanNote)
}

// WaitingNotes implements [ledger.Store].
func (t Table) WaitingNotes(ctx context.Context, target string, limit int) ([]alert.Note, error) {
	return engine.All(ctx, t.Conn, `SELECT `+noteColumns+` FROM alert_notes WHERE target = ? AND status = 'waiting' ORDER BY created, note_key`+engine.Limit(limit),
		[]any{engine.Indexed(target)}, scanNote)
}

// CountNotes implements [ledger.Store].
func (t Table) CountNotes(ctx context.Context, target string, since time.Time, limit int) (n int, revision int64, err error) {
	err = t.One(ctx, `SELECT COUNT(*), COALESCE((SELECT revision FROM alert_budgets WHERE target = ?), 0)
		FROM (SELECT 1 FROM alert_notes WHERE target = ? AND posts = 1 AND created > ?`+engine.Limit(limit)+`) AS posted`,
		[]any{engine.Indexed(target), engine.Indexed(target), engine.Micros(since)}, &n, &revision)
	return n, revision, err
}

// Removals are the statements that remove old rows, at most a number of each.
func Removals(most int) []string {
	limit := engine.Limit(most)
	return []string{
		`DELETE FROM alerts WHERE alert_key IN (SELECT alert_key FROM alerts WHERE ended > 0 AND ended < ? ORDER BY ended` + limit + `)`,
		`DELETE FROM alert_notes WHERE note_key IN (SELECT note_key FROM alert_notes WHERE created < ? AND status <> 'waiting' ORDER BY created` + limit + `)`,
		// A closed group stays while a notification does: its row has the number of the last one.
		`DELETE FROM alert_groups WHERE group_key IN (SELECT group_key FROM alert_groups g WHERE open = 0 AND due < ?
			AND NOT EXISTS (SELECT 1 FROM alert_notes n WHERE n.group_key = g.group_key) ORDER BY due` + limit + `)`,
		`DELETE FROM silences WHERE id IN (SELECT id FROM silences WHERE ends < ? ORDER BY ends` + limit + `)`,
	}
}
