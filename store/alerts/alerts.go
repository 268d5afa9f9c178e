// Package alerts stores alerts, their groups, silences and notifications.
package alerts

import (
	"context"
	"strings"
	"time"

	"sluice/internal/alert"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	alertColumns = `alert_key, revision, status, severity, source, level, trust, body, started, ends, updated, ended`
	insertAlert  = `INSERT INTO alerts (` + alertColumns + `, ref) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (alert_key) DO NOTHING`
	moveAlert    = `UPDATE alerts SET revision = ?, status = ?, severity = ?, source = ?, level = ?, trust = ?, body = ?, started = ?, ends = ?, updated = ?, ended = ?, ref = ?
		WHERE alert_key = ? AND revision = ?`
	silenceColumns = `id, revision, starts, ends, updated, level, trust, body`
	insertSilence  = `INSERT INTO silences (` + silenceColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`
	moveSilence    = `UPDATE silences SET revision = ?, starts = ?, ends = ?, updated = ?, level = ?, trust = ?, body = ? WHERE id = ? AND revision = ?`
	// openAlerts is the condition of the partial index of the alerts that are not over.
	openAlerts = `status IN ('firing', 'acknowledged')`
)

// Table reads alerts, their groups, silences and notifications. Its methods implement [ledger.Alerts] and [ledger.AlertGroups].
type Table struct{ *engine.Conn }

var (
	_ ledger.Alerts      = Table{}
	_ ledger.AlertGroups = Table{}
)

// writer builds the statements of a change.
type writer struct {
	*engine.Encoding
	write engine.Write
}

func (b *writer) add(s engine.Statement) { b.write = append(b.write, s) }

// Write builds the statements of a change.
func Write(e *engine.Encoding, c *ledger.AlertChange) engine.Write {
	b := &writer{Encoding: e}
	for i := range c.Alerts {
		b.alert(&c.Alerts[i])
	}
	for i := range c.AlertTouches {
		b.touch(&c.AlertTouches[i])
	}
	for i := range c.AlertGroups {
		b.alertGroup(&c.AlertGroups[i])
	}
	for _, m := range c.AlertLeaves {
		b.add(engine.Statement{SQL: `DELETE FROM alert_members WHERE group_key = ? AND alert_key = ?`, Args: []any{engine.Indexed(m.Group), engine.Indexed(m.Alert)}})
	}
	for i := range c.Silences {
		b.silence(&c.Silences[i])
	}
	for i := range c.AlertNotes {
		b.note(&c.AlertNotes[i])
	}
	for _, s := range c.AlertBudgets {
		b.add(engine.Statement{SQL: spend, Else: sessions.ErrConflict, Args: []any{engine.Indexed(s.Target), s.Revision}})
	}
	for _, key := range c.AlertSums {
		b.add(engine.Statement{SQL: `UPDATE alert_notes SET status = 'summed' WHERE note_key = ? AND status = 'waiting'`, Args: []any{engine.Indexed(key)}, Else: sessions.ErrConflict})
	}
	return b.write
}

func (b *writer) alert(a *alert.Alert) {
	level, trust := engine.Label(a.Label)
	if a.Revision == 1 {
		b.add(engine.Statement{SQL: insertAlert, Else: sessions.ErrConflict, Args: []any{
			engine.Indexed(a.Key), a.Revision, string(a.Status), string(a.Severity), a.Source, level, trust, b.Text(a.Detail),
			engine.Micros(a.Started), engine.Micros(a.Ends), engine.Micros(a.Updated), engine.Micros(a.Ended), alert.Ref(a.Key),
		}})
		return
	}
	b.add(engine.Statement{SQL: moveAlert, Else: sessions.ErrConflict, Args: []any{
		a.Revision, string(a.Status), string(a.Severity), a.Source, level, trust, b.Text(a.Detail),
		engine.Micros(a.Started), engine.Micros(a.Ends), engine.Micros(a.Updated), engine.Micros(a.Ended), alert.Ref(a.Key),
		engine.Indexed(a.Key), a.Revision - 1,
	}})
}

func (b *writer) silence(s *alert.Silence) {
	level, trust := engine.Label(s.Label)
	starts, ends, updated, body := engine.Micros(s.Starts), engine.Micros(s.Ends), engine.Micros(s.Updated), b.Text(s.SilenceDetail)
	if s.Revision == 1 {
		b.add(engine.Statement{SQL: insertSilence, Else: sessions.ErrDuplicate, Args: []any{engine.Indexed(s.ID), s.Revision, starts, ends, updated, level, trust, body}})
		return
	}
	b.add(engine.Statement{SQL: moveSilence, Else: sessions.ErrConflict, Args: []any{s.Revision, starts, ends, updated, level, trust, body, engine.Indexed(s.ID), s.Revision - 1}})
}

func scanAlert(row engine.Row) (alert.Alert, error) {
	var a alert.Alert
	var status, severity, body string
	var level, trust int
	var started, ends, updated, ended int64
	if err := row.Scan(&a.Key, &a.Revision, &status, &severity, &a.Source, &level, &trust, &body, &started, &ends, &updated, &ended); err != nil {
		return a, err
	}
	var d engine.Decoding
	d.Into(body, &a.Detail)
	a.Status, a.Severity, a.Label = alert.Status(status), alert.Severity(severity), engine.LabelFrom(level, trust)
	a.Started, a.Ends, a.Updated, a.Ended = engine.FromMicros(started), engine.FromMicros(ends), engine.FromMicros(updated), engine.FromMicros(ended)
	return a, d.Err
}

// AlertsByKey implements [ledger.Store].
func (t Table) AlertsByKey(ctx context.Context, keys []string) ([]alert.Alert, error) {
	var all []alert.Alert
	for len(keys) > 0 {
		n := min(len(keys), alertsRead)
		args := make([]any, alertsRead) // one statement for all numbers of keys: it stays prepared
		for i := range args {
			args[i] = engine.Indexed(keys[min(i, n-1)])
		}
		some, err := engine.All(ctx, t.Conn, alertsByKey, args, scanAlert)
		if err != nil {
			return nil, err
		}
		all, keys = append(all, some...), keys[n:]
	}
	return all, nil
}

// alertsRead is how many alerts one statement reads by their keys.
const alertsRead = 50

var alertsByKey = `SELECT ` + alertColumns + ` FROM alerts WHERE alert_key IN ` + `(?` + strings.Repeat(`, ?`, alertsRead-1) + `)`

// ListAlerts implements [ledger.Store].
func (t Table) ListAlerts(ctx context.Context, q alert.Query) ([]alert.Alert, error) {
	limit := q.Limit
	if limit <= 0 || limit > alert.ListMax {
		limit = alert.ListMax
	}
	most := readable(q.MaxLevel)
	where, args := []string{`level <= ?`}, []any{most}
	if q.Open {
		where = append(where, openAlerts)
	}
	if q.Ref != "" {
		where, args = append(where, `ref IN (?, '')`), append(args, engine.Indexed(q.Ref))
	}
	if len(q.Severities) > 0 {
		where = append(where, `severity IN (?, ?, ?, ?)`)
		for i := range 4 {
			args = append(args, string(q.Severities[min(i, len(q.Severities)-1)]))
		}
	}
	if q.After != "" {
		where = append(where, `(started, alert_key) < (SELECT started, alert_key FROM alerts WHERE alert_key = ? AND level <= ?)`) // a hidden one is as an unknown one
		args = append(args, engine.Indexed(q.After), most)
	}
	return engine.All(ctx, t.Conn, `SELECT `+alertColumns+` FROM alerts WHERE `+strings.Join(where, " AND ")+` ORDER BY started DESC, alert_key DESC`+engine.Limit(limit), args, scanAlert)
}

// TallyAlerts implements [ledger.Store].
func (t Table) TallyAlerts(ctx context.Context) ([]alert.Tally, error) {
	return engine.All(ctx, t.Conn, `SELECT status, severity, COUNT(*) FROM alerts WHERE `+openAlerts+` GROUP BY status, severity`, nil, func(row engine.Row) (alert.Tally, error) {
		var status, severity string
		var n int
		err := row.Scan(&status, &severity, &n)
		return alert.Tally{Status: alert.Status(status), Severity: alert.Severity(severity), Count: n}, err
	})
}

// readable is the highest level of the rows that a reader may see; 0 if the level is invalid.
func readable(most flow.Level) int {
	if !most.Valid() {
		return 0
	}
	level, _ := engine.Label(flow.NewLabel(most, flow.Trusted))
	return level
}

func scanSilence(row engine.Row) (alert.Silence, error) {
	var s alert.Silence
	var body string
	var level, trust int
	var starts, ends, updated int64
	if err := row.Scan(&s.ID, &s.Revision, &starts, &ends, &updated, &level, &trust, &body); err != nil {
		return s, err
	}
	var d engine.Decoding
	d.Into(body, &s.SilenceDetail)
	s.Label, s.Starts, s.Ends, s.Updated = engine.LabelFrom(level, trust), engine.FromMicros(starts), engine.FromMicros(ends), engine.FromMicros(updated)
	return s, d.Err
}

// ListSilences implements [ledger.Store].
func (t Table) ListSilences(ctx context.Context, after time.Time, most flow.Level) ([]alert.Silence, error) {
	return engine.All(ctx, t.Conn, `SELECT `+silenceColumns+` FROM silences WHERE ends > ? AND level <= ? ORDER BY ends, id`+engine.Limit(alert.ListMax),
		[]any{engine.Micros(after), readable(most)}, scanSilence)
}

// Silence implements [ledger.Store].
func (t Table) Silence(ctx context.Context, id string) (alert.Silence, error) {
	return engine.Single(ctx, t.Conn, `SELECT `+silenceColumns+` FROM silences WHERE id = ?`, []any{engine.Indexed(id)}, scanSilence)
}
