package work

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"sluice/adapters"
	"sluice/internal/telemetry"
	"sluice/router/journal"
	"sluice/router/lanes"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/sessions"
)

// opensMax is how many failures to open a session end its message without an answer. Failures because the store is
// unavailable do not count.
const opensMax = 8

// Config has the dependencies of Workers. All fields but Tracer, Speaks and CachedSessions are required.
type Config struct {
	Store     Store
	Agent     Agent
	Monitor   Monitor
	Gate      Gate
	Composer  Composer
	Outbox    Outbox
	Receipts  Receipts
	Exchanges Exchanges
	Approvals Approvals
	Quotas    Quotas
	Lanes     Lanes
	Steps     Steps
	Acks      *Acks
	Places    *place.Places
	Adapters  adapters.Finder
	Fetch     Fetch
	Emit      func(event sessions.Event) // publishes a live event; it does not block
	Now       func() time.Time
	Log       *slog.Logger
	Metrics   *Metrics
	Sent      *journal.Metrics

	Tracer *telemetry.Tracer // nil: runs are not traced

	Speaks func() bool // whether replies can be spoken; nil: they can't

	CachedSessions int // how many opened sessions are kept; default 512
}

// Workers creates the worker of each session with work. It is safe for concurrent use.
type Workers struct {
	store    Store
	lanes    Lanes
	steps    Steps
	settings func() *place.Settings
	now      func() time.Time
	cache    *sessionCache
	claims   *claimer
	drives   *driver
}

// New creates Workers. Nothing runs before a lane asks for its worker.
func New(c Config) *Workers {
	settings := c.Places.Settings
	cache := newSessionCache(cmp.Or(c.CachedSessions, 512), cachedBytes)
	in := &intake{
		monitor: c.Monitor, adapter: c.Adapters, places: c.Places, quotas: c.Quotas, now: c.Now, log: c.Log, fetch: c.Fetch,
	}
	show := &shows{
		store: c.Store, lanes: c.Lanes, gate: c.Gate, composer: c.Composer, receipts: c.Receipts, sent: c.Sent, places: c.Places, adapter: c.Adapters,
		emit: c.Emit, now: c.Now, log: c.Log,
	}
	end := &finisher{
		store: c.Store, lanes: c.Lanes, composer: c.Composer, quotas: c.Quotas, speaks: c.Speaks, outbox: c.Outbox, receipts: c.Receipts, exchanges: c.Exchanges, acks: c.Acks, sinkLevel: c.Gate.SinkLevel,
		emit: c.Emit, now: c.Now, log: c.Log, runs: c.Metrics.Runs,
	}
	return &Workers{
		store: c.Store, lanes: c.Lanes, steps: c.Steps, settings: settings, now: c.Now, cache: cache,
		claims: &claimer{
			store: c.Store, lanes: c.Lanes, agent: c.Agent, cache: cache, intake: in, shows: show, ends: end, settings: settings,
			mayRise: c.Monitor.MayRise, now: c.Now, queued: c.Metrics.QueueSeconds, traces: traces{c.Tracer},
		},
		drives: &driver{
			store: c.Store, agent: c.Agent, shows: show, approvals: c.Approvals, ends: end, settings: settings, now: c.Now, log: c.Log, seconds: c.Metrics.RunSeconds, traces: traces{c.Tracer},
			orders:   &orders{agent: c.Agent, sinkLevel: c.Gate.SinkLevel, now: c.Now},
			steering: &steering{store: c.Store, intake: in, settings: settings, now: c.Now, steered: c.Metrics.Steered},
		},
	}
}

// Worker creates the worker of a session.
func (w *Workers) Worker(lane *lanes.Lane, id sessions.ID) lanes.Turn {
	one := &worker{of: w, lane: lane, id: id}
	return one.turn
}

// Released drops the opened sessions of a released partition.
func (w *Workers) Released(partition int) {
	w.cache.drop(func(record sessions.Record) bool { return record.Partition == partition })
}

// Reopen drops all opened sessions, because the configuration of their agents has changed.
func (w *Workers) Reopen() {
	w.cache.drop(func(sessions.Record) bool { return true })
}

// worker works the runs of one session one by one. Only its lane's goroutine uses it.
type worker struct {
	of   *Workers
	lane *lanes.Lane
	id   sessions.ID
	busy bool // whether a run has just ended here: the queue mode may ask for a quiet time before the next
}

// enter takes the place that a sub-agent's work needs; other work needs none.
func (w *worker) enter(run sessions.Run) (leave func(), ok bool) {
	if run.Kind != sessions.KindTask {
		return func() {}, true
	}
	return w.of.lanes.EnterTask(w.lane, w.of.settings().Exchanges.MaxTasks)
}

// turn works the next run of the session, if any.
func (w *worker) turn() (lanes.Rest, error) {
	ctx := w.lane.Context()
	waiting, err := w.of.store.WaitingRuns(ctx, w.id, queue.MaxWaiting)
	if err != nil {
		return lanes.Rest{}, fmt.Errorf("read queue: %w", err)
	}
	waiting, missing, err := w.of.steps.Ready(ctx, w.id, waiting)
	if err != nil {
		return lanes.Rest{}, err
	}
	if len(waiting) == 0 {
		w.busy = false
		return lanes.Rest{Wait: missing}, nil
	}
	record, err := w.of.store.Session(ctx, w.id)
	if err != nil {
		return lanes.Rest{}, fmt.Errorf("read session: %w", err)
	}
	s := w.of.settings()
	rules := s.Queue
	rules.Mode = s.QueueMode(record)
	batch, wait := queue.Pick(rules, waiting, w.of.now(), w.busy)
	if len(batch) == 0 {
		w.busy = w.busy && wait > 0
		if missing > 0 && (wait == 0 || missing < wait) {
			wait = missing
		}
		return lanes.Rest{Wait: wait}, nil
	}
	w.busy = true
	more := len(batch) < len(waiting)
	if more {
		w.lane.Hear()
	}
	more = more || missing > 0
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
	job := &job{record: record, batch: batch, resumed: batch[0].Status == sessions.RunRunning, lane: w.lane, id: w.id}
	started, err := w.of.claims.claim(ctx, job)
	if err != nil || !started {
		return lanes.Rest{Again: more}, err
	}
	working = true
	return lanes.Rest{Then: func() (lanes.Rest, error) {
		defer leave()
		return w.drive(job, more)
	}}, nil
}

// drive works a batch that has started. more: other runs were waiting behind it.
func (w *worker) drive(job *job, more bool) (lanes.Rest, error) {
	err := w.of.drives.drive(w.lane.Context(), job)
	w.of.cache.grown(w.id)
	return lanes.Rest{Again: more && job.aside == 0, Wait: job.aside}, err
}
