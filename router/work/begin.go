package work

import (
	"time"

	"sluice/internal/telemetry"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/sessions"
)

// Begun is a run that starts in the commit that stores its message. Its session is not worked until [Begun.Stored] or
// [Begun.NotStored] says whether the commit succeeded.
type Begun struct {
	worker  *worker
	lane    lanes.Reserved
	job     *job
	started time.Time
	pending sessions.Change // of the session
}

// Begin makes the run of a change start in the change itself, if its session is open here, stored, and has no work. Otherwise
// it returns nil, and the session's worker claims the run. The change must be stored with the run as it then is.
func (w *Workers) Begin(change *ledger.Change, record sessions.Record) *Begun {
	run := &change.Enqueue[0]
	if !beginsAtOnce(w.settings(), *run, record, w.now()) {
		return nil
	}
	session, ok := w.cache.get(record.ID)
	if !ok || !isStored(session, record) {
		return nil
	}
	lane, ok := w.lanes.Reserve(run.Partition, sessions.SessionLane(record.ID))
	if !ok {
		return nil
	}
	b := &Begun{worker: &worker{of: w, lane: lane.Lane, id: record.ID, busy: true}, lane: lane, started: w.now()}
	begun := false
	defer func() {
		if !begun { // also after a panic
			b.NotStored()
		}
	}()
	// The lane is the only user of its session. A session that others have used until now may have changed.
	if !isStored(session, record) {
		return nil
	}
	session.Adopt(record)
	whole := *run
	if w.claims.intake.admitText(session, &whole, nil) != nil {
		return nil // the worker refuses it, too, and tells its sender
	}
	session.Append(userMessage(whole, nil))
	run.Status, run.Epoch, run.Started, run.Attempts = sessions.RunRunning, lane.Epoch(), b.started, 1
	b.job = &job{session: session, record: record, batch: []sessions.Run{*run}, lane: lane.Lane, id: record.ID}
	b.pending = session.Pending()
	change.Save = append(change.Save, b.pending.Save...)
	change.Messages = append(change.Messages, b.pending.Messages...)
	change.Audit = append(change.Audit, b.pending.Audit...)
	begun = true
	return b
}

// beginsAtOnce reports whether nothing has to be waited for or fetched before a run starts in a session without work.
func beginsAtOnce(s *place.Settings, run sessions.Run, record sessions.Record, now time.Time) bool {
	in := run.Input
	if run.Kind != sessions.KindMessage || in.Order != nil || in.NewThread || len(in.Attachments) > 0 {
		return false
	}
	rules := s.Queue
	rules.Mode = s.QueueMode(record)
	batch, _ := queue.Pick(rules, []sessions.Run{run}, now, false)
	return len(batch) == 1
}

// isStored reports whether an open session is as it is stored.
func isStored(session *sessions.Session, record sessions.Record) bool {
	have := session.Record()
	return have.Revision == record.Revision && have.Model == record.Model && !session.Dirty()
}

// Stored begins the work.
func (b *Begun) Stored() {
	b.job.session.Saved(b.pending)
	c := b.worker.of.claims
	telemetry.Observe(c.queued, b.started.Sub(b.job.batch[0].Accepted).Seconds(), c.traces.waited(b.job.batch))
	b.lane.Start(func() (lanes.Rest, error) { return b.worker.drive(b.job, false) }, b.worker.turn)
}

// NotStored gives the session back to its worker, which forgets what was begun.
func (b *Begun) NotStored() { b.lane.Start(b.worker.turn, b.worker.turn) }
