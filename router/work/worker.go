package work

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"sluice/adapters"
	"sluice/router/lanes"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/sessions"
)

// opensMax is how often a session is opened in vain before its message ends without an answer. A store
// that says that it is not available does not count.
const opensMax = 8

// Config is what Workers are made of. All fields but CachedSessions are required.
type Config struct {
	Store     Store
	Agent     Agent
	Monitor   Monitor
	Gate      Gate
	Composer  Composer
	Receipts  Receipts
	Exchanges Exchanges
	Approvals Approvals
	Rooms     Rooms
	Lanes     Lanes
	Acks      *Acks
	Places    *place.Places
	Adapters  adapters.Finder
	Emit      func(event sessions.Event) // publishes a live event; it does not block
	Now       func() time.Time
	Log       *slog.Logger
	Metrics   *Metrics
	Sent      *outbound.Metrics

	CachedSessions int // how many sessions stay opened; default 512
}

// Workers make the worker of each session that has work. They are safe for concurrent use.
type Workers struct {
	store    Store
	lanes    Lanes
	settings func() *place.Settings
	now      func() time.Time
	cache    *sessionCache
	claims   *claimer
	drives   *driver
}

// New makes Workers. Nothing runs before a lane asks for its worker.
func New(c Config) *Workers {
	settings := c.Places.Settings
	cache := newSessionCache(cmp.Or(c.CachedSessions, 512))
	in := &intake{
		monitor: c.Monitor, adapter: c.Adapters, places: c.Places, rooms: c.Rooms, settings: settings, now: c.Now, log: c.Log,
		fetches: make(chan struct{}, fetchesMax),
	}
	show := &shows{
		store: c.Store, lanes: c.Lanes, gate: c.Gate, composer: c.Composer, receipts: c.Receipts, sent: c.Sent, places: c.Places, adapter: c.Adapters,
		emit: c.Emit, now: c.Now, log: c.Log,
	}
	end := &finisher{
		store: c.Store, lanes: c.Lanes, composer: c.Composer, receipts: c.Receipts, exchanges: c.Exchanges, acks: c.Acks, sinkLevel: c.Gate.SinkLevel,
		emit: c.Emit, now: c.Now, log: c.Log, runs: c.Metrics.Runs,
	}
	return &Workers{
		store: c.Store, lanes: c.Lanes, settings: settings, now: c.Now, cache: cache,
		claims: &claimer{
			store: c.Store, lanes: c.Lanes, agent: c.Agent, cache: cache, intake: in, shows: show, ends: end, settings: settings,
			mayRise: c.Monitor.MayRise, now: c.Now, queued: c.Metrics.QueueSeconds,
		},
		drives: &driver{
			store: c.Store, agent: c.Agent, shows: show, approvals: c.Approvals, ends: end, settings: settings, now: c.Now, log: c.Log, seconds: c.Metrics.RunSeconds,
			orders:   &orders{agent: c.Agent, sinkLevel: c.Gate.SinkLevel, now: c.Now},
			steering: &steering{store: c.Store, intake: in, settings: settings, now: c.Now, steered: c.Metrics.Steered},
		},
	}
}

// Worker makes the worker of a session.
func (w *Workers) Worker(lane *lanes.Lane, id sessions.ID) lanes.Turn {
	one := &worker{of: w, lane: lane, id: id}
	return one.turn
}

// Released drops the opened sessions of a partition that was given back.
func (w *Workers) Released(partition int) {
	w.cache.drop(func(record sessions.Record) bool { return record.Partition == partition })
}

// Reopen drops all opened sessions: they were opened with agents that are configured differently now.
func (w *Workers) Reopen() {
	w.cache.drop(func(sessions.Record) bool { return true })
}

// worker works the runs of one session, one after the other. It is used by its lane's goroutine alone.
type worker struct {
	of   *Workers
	lane *lanes.Lane
	id   sessions.ID
	busy bool // a run has just ended here: the queue mode may want quiet before the next
}

// enter takes the place that a sub-agent's work needs; other work needs no place.
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
	if len(waiting) == 0 {
		w.busy = false
		return lanes.Rest{}, nil
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
	job := &job{record: record, batch: batch, resumed: batch[0].Status == sessions.RunRunning, lane: w.lane, id: w.id}
	started, err := w.of.claims.claim(ctx, job)
	if err != nil || !started {
		return lanes.Rest{Again: more}, err
	}
	working = true
	return lanes.Rest{Then: func() (lanes.Rest, error) {
		defer leave()
		err := w.of.drives.drive(ctx, job)
		return lanes.Rest{Again: more && job.aside == 0, Wait: job.aside}, err
	}}, nil
}
