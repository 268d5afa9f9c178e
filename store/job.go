package store

import (
	"context"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	jobColumns = `id, origin, revision, partition_no, level, trust, session_id, body, created, changed`
	insertJob  = `INSERT INTO jobs (` + jobColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id, origin) DO NOTHING`
	moveJob    = `UPDATE jobs SET revision = ?, level = ?, trust = ?, body = ?, changed = ? WHERE id = ? AND origin = ? AND revision = ?`
	removeJob  = `DELETE FROM jobs WHERE id = ? AND origin = ? AND revision = ?`
)

func (b *writer) job(j ledger.Job) {
	level, trust := engine.Label(j.Label)
	id, origin := engine.Indexed(j.ID), string(j.Origin)
	switch {
	case j.Gone:
		b.add(engine.Statement{SQL: removeJob, Else: sessions.ErrConflict, Args: []any{id, origin, j.Revision - 1}})
	case j.Revision == 1:
		b.add(engine.Statement{SQL: insertJob, Else: sessions.ErrConflict, Args: []any{
			id, origin, j.Revision, j.Partition, level, trust, string(j.Session), b.Text(j.JobDetail), engine.Micros(j.Created), engine.Micros(j.Changed),
		}})
	default:
		b.add(engine.Statement{SQL: moveJob, Else: sessions.ErrConflict, Args: []any{
			j.Revision, level, trust, b.Text(j.JobDetail), engine.Micros(j.Changed), id, origin, j.Revision - 1,
		}})
	}
}

// Job implements [ledger.Store].
func (db jobTable) Job(ctx context.Context, origin ledger.JobOrigin, id string) (ledger.Job, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+jobColumns+` FROM jobs WHERE id = ? AND origin = ?`, []any{engine.Indexed(id), string(origin)}, scanJob)
}

// JobsIn implements [ledger.Store].
func (db jobTable) JobsIn(ctx context.Context, partition int) ([]ledger.Job, error) {
	return engine.All(ctx, db.Conn, `SELECT `+jobColumns+` FROM jobs WHERE partition_no = ? ORDER BY id, origin`, []any{partition}, scanJob)
}

// ListJobs implements [ledger.Store].
func (db jobTable) ListJobs(ctx context.Context, q ledger.JobQuery) ([]ledger.Job, error) {
	f := engine.Filter{}
	f.Within(q.MaxLevel, "jobs")
	f.AddIf(q.Session != "", `session_id = ?`, string(q.Session))
	f.AddIf(q.After != "", `id > ?`, engine.Indexed(q.After))
	return engine.Listed(ctx, db.Conn, q.Bound, engine.Page(q.Limit), `SELECT `+jobColumns+` FROM jobs`+f.Where()+` ORDER BY id, origin`, f.Args, scanJob)
}

// CountJobs implements [ledger.Store].
func (db jobTable) CountJobs(ctx context.Context, session sessions.ID, since time.Time, upTo flow.Level) (ledger.JobCount, error) {
	var n ledger.JobCount
	f := engine.Filter{}
	f.Add(`origin = 'made'`)
	f.Within(upTo, "jobs")
	err := db.One(ctx, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN session_id = ? THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN session_id = ? AND created >= ? THEN 1 ELSE 0 END), 0) FROM jobs`+f.Where(),
		append([]any{string(session), string(session), engine.Micros(since)}, f.Args...), &n.All, &n.Session, &n.Recent)
	return n, err
}

func scanJob(row engine.Row) (ledger.Job, error) {
	var j ledger.Job
	var origin, session, body string
	var level, trust int
	var created, changed int64
	if err := row.Scan(&j.ID, &origin, &j.Revision, &j.Partition, &level, &trust, &session, &body, &created, &changed); err != nil {
		return j, err
	}
	var d engine.Decoding
	d.Into(body, &j.JobDetail)
	j.Origin, j.Session, j.Label = ledger.JobOrigin(origin), sessions.ID(session), engine.LabelFrom(level, trust)
	j.Created, j.Changed = engine.FromMicros(created), engine.FromMicros(changed)
	return j, d.Err
}

// ListTriggers implements [ledger.Store].
func (db triggerTable) ListTriggers(ctx context.Context, q ledger.TriggerQuery) ([]ledger.Trigger, error) {
	f := engine.Filter{}
	f.Add(`source = ?`, string(q.Source))
	f.Add(`subject = ?`, engine.Indexed(q.Subject))
	f.Within(q.MaxLevel, "triggers")
	if q.After != "" {
		before := engine.Filter{}
		before.Add(`p.trigger_key = ?`, engine.Indexed(q.After))
		before.Within(q.MaxLevel, "p")
		f.Add(`(created, trigger_key) < (SELECT p.created, p.trigger_key FROM triggers p`+before.Where()+`)`, before.Args...)
	}
	return engine.Listed(ctx, db.Conn, q.Bound, engine.Page(q.Limit), `SELECT `+triggerColumns+` FROM triggers`+f.Where()+` ORDER BY created DESC, trigger_key DESC`, f.Args, scanTrigger)
}

// OpenTriggersOf implements [ledger.Store].
func (db triggerTable) OpenTriggersOf(ctx context.Context, source ledger.TriggerSource, subjects []string) ([]ledger.Trigger, error) {
	if len(subjects) == 0 {
		return nil, nil
	}
	fit := make([]string, 0, len(subjects))
	for _, s := range subjects[:min(len(subjects), pruneMax)] {
		fit = append(fit, engine.Indexed(s))
	}
	return engine.All(ctx, db.Conn, `SELECT `+triggerColumns+` FROM triggers WHERE source = ? AND subject IN `+pruneList+` AND `+openTriggers,
		append([]any{string(source)}, listArgs(fit, pruneMax)...), scanTrigger)
}
