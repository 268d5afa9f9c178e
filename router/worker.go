package router

import (
	"fmt"

	"sluice/router/lanes"
	"sluice/router/queue"
	"sluice/sessions"
)

// opensMost is how often a session is opened in vain before its message ends without an answer. A store
// that says that it is not available doesn't count.
const (
	opensMost = 8
)

// sessionWorker works the runs of one session, one after the other. It is used by its lane's goroutine alone.
type sessionWorker struct {
	*Router
	lane *lanes.Lane
	id   sessions.ID
	busy bool // a run has just ended here: the queue mode may want quiet before the next
}

// enter takes the place that a sub-agent's work needs; other work needs none.
func (w *sessionWorker) enter(run sessions.Run) (leave func(), ok bool) {
	if run.Kind != sessions.KindTask {
		return func() {}, true
	}
	return w.lanes.EnterTask(w.lane, w.settings.Load().Exchanges.MaxTasks)
}

// turn works the next run of the session, if any.
func (w *sessionWorker) turn() (lanes.Rest, error) {
	ctx := w.lane.Context()
	waiting, err := w.store.WaitingRuns(ctx, w.id, queue.MaxWaiting)
	if err != nil {
		return lanes.Rest{}, fmt.Errorf("read queue: %w", err)
	}
	if len(waiting) == 0 {
		w.busy = false
		return lanes.Rest{}, nil
	}
	record, err := w.store.Session(ctx, w.id)
	if err != nil {
		return lanes.Rest{}, fmt.Errorf("read session: %w", err)
	}
	s := w.settings.Load()
	rules := s.Queue
	rules.Mode = s.QueueMode(record)
	batch, wait := queue.Pick(rules, waiting, w.now(), w.busy)
	if len(batch) == 0 {
		w.busy = w.busy && wait > 0
		return lanes.Rest{Wait: wait}, nil
	}
	w.busy = true
	more := len(batch) < len(waiting)
	if more {
		w.lane.Hear()
	}
	leave, ok := w.enter(batch[0])
	if !ok {
		return lanes.Rest{}, nil // woken when there is a place
	}
	working := false
	defer func() {
		if !working {
			leave()
		}
	}()
	job, err := w.claim(ctx, record, batch)
	if err != nil || job == nil {
		return lanes.Rest{Again: more}, err
	}
	working = true
	return lanes.Rest{Then: func() (lanes.Rest, error) {
		defer leave()
		err := w.drive(ctx, job)
		return lanes.Rest{Again: more && job.aside == 0, Wait: job.aside}, err
	}}, nil
}
