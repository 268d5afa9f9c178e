package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/telemetry"
	"sluice/router/ledger"
	"sluice/router/queue"
	"sluice/sessions"
)

const (
	// firstMiss is how long a step's message may take before the step is published again. The time doubles with each
	// try, up to lastMiss.
	firstMiss, lastMiss = time.Second, 30 * time.Second
)

// Bus carries messages to the owners of partitions. Neither call blocks.
type Bus interface {
	// PublishStep sends a message to a partition. It is lost if the bus can't store it.
	PublishStep(partition int, id string, text []byte)
	// ReadSteps makes sure that the messages of a partition that this replica owns are delivered here.
	ReadSteps(partition int)
}

// Store has the exchanges that steps belong to.
type Store interface {
	Exchange(ctx context.Context, id string) (ledger.Exchange, error)
}

// Config has the dependencies of Steps. All fields but Tracer are required.
type Config struct {
	Store      Store
	Bus        Bus
	Wake       func(partition int, lane sessions.Lane) // of a partition that is owned here
	Limit      func() time.Duration                    // how long a run may take; 0: any time
	Partitions int
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
	Tracer     *telemetry.Tracer // nil: messages do not name their trace
}

// Steps publishes the steps that commits create, and knows which ones the bus has delivered here. It is safe for concurrent
// use.
type Steps struct {
	Config
	published, again, came, stale prometheus.Counter

	mu    sync.Mutex
	steps map[sessions.ID]map[sessions.RunID]*step
}

// step is a queued or running step that this replica has heard of or has missed.
type step struct {
	partition int
	ack       func()    // nil: its message has not come
	since     time.Time // when it was missed first, or published again
	tries     int       // how often this replica has published it again
}

// New creates Steps.
func New(c Config) *Steps {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "sluice", Subsystem: "steps", Name: name, Help: help})
	}
	s := &Steps{
		Config: c, steps: map[sessions.ID]map[sessions.RunID]*step{},
		published: counter("published_total", "Steps of exchanges that were given to the bus."),
		again:     counter("republished_total", "Steps that were given to the bus again, because their message did not come."),
		came:      counter("received_total", "Messages with steps that the bus has delivered, including repeated ones."),
		stale:     counter("stale_total", "Messages of steps that had ended: they were acknowledged without an effect."),
	}
	c.Registerer.MustRegister(s.published, s.again, s.came, s.stale)
	return s
}

// Changed publishes the steps that a commit has queued, and acknowledges those that it has ended.
func (s *Steps) Changed(change ledger.Change) {
	for _, run := range change.Enqueue {
		if !run.Kind.Step() {
			continue
		}
		for _, x := range change.Exchanges {
			if x.ID == run.Exchange {
				s.publish(run, x, string(run.ID))
			}
		}
	}
	for _, m := range change.Runs {
		if m.Run.Kind.Step() && m.Run.Status.Terminal() {
			s.ended(m.Run)
		}
	}
}

func (s *Steps) publish(run sessions.Run, x ledger.Exchange, id string) {
	text, err := encode(run, x, s.Limit(), s.Tracer)
	if err != nil { // its types can all be encoded
		s.Log.Error("step not published", "run", run.ID, "err", err)
		return
	}
	s.published.Inc()
	s.Bus.PublishStep(run.Partition, id, text)
}

func (s *Steps) ended(run sessions.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.steps[run.Session][run.ID]; st != nil {
		s.forget(run.Session, run.ID, st)
	}
}

// forget removes a step, and acknowledges its message if it has come. The caller holds mu.
func (s *Steps) forget(session sessions.ID, run sessions.RunID, st *step) {
	if st.ack != nil {
		st.ack()
	}
	delete(s.steps[session], run)
	if len(s.steps[session]) == 0 {
		delete(s.steps, session)
	}
}

// Stepped takes a message from the bus. ack tells the bus that it is no longer needed. It does not block.
func (s *Steps) Stepped(partition int, text []byte, ack func()) {
	s.came.Inc()
	var m Message
	err := json.Unmarshal(text, &m)
	id, run := sessions.ID(m.Subject), m.Data.Run
	lane := sessions.SessionLane(id)
	if err == nil && (id == "" || run == "" || lane.Partition(s.Partitions) != partition) {
		err = fmt.Errorf("session %q and run %q are not of partition %d", id, run, partition)
	}
	if err != nil {
		s.Log.Warn("message of a step is not readable", "partition", partition, "err", err)
		ack()
		return
	}
	s.mu.Lock()
	st := s.of(id, run, partition)
	if st.ack != nil {
		st.ack() // an earlier copy
	}
	st.ack = ack
	s.mu.Unlock()
	s.Wake(partition, lane)
}

// of is the entry of a step. The caller holds mu.
func (s *Steps) of(session sessions.ID, run sessions.RunID, partition int) *step {
	if s.steps[session] == nil {
		s.steps[session] = map[sessions.RunID]*step{}
	}
	st := s.steps[session][run]
	if st == nil {
		st = &step{partition: partition}
		s.steps[session][run] = st
	}
	return st
}

// Ready returns the waiting runs of a session without the steps whose message has not come, and when to look again; 0: when
// woken. A missing step is published again when its time has come.
func (s *Steps) Ready(ctx context.Context, session sessions.ID, waiting []sessions.Run) (ready []sessions.Run, again time.Duration, err error) {
	missing := s.missing(session, waiting)
	if len(missing) == 0 {
		return waiting, 0, nil
	}
	ready = make([]sessions.Run, 0, len(waiting))
	for _, run := range waiting {
		wait, misses := missing[run.ID]
		switch {
		case !misses:
			ready = append(ready, run)
			continue
		case wait <= 0:
			wait, err = s.republish(ctx, run)
			if errors.Is(err, sessions.ErrNotFound) { // its exchange was removed: its worker ends it
				ready = append(ready, run)
				continue
			}
			if err != nil {
				return nil, 0, err
			}
		}
		if again == 0 || wait < again {
			again = wait
		}
	}
	return ready, again, nil
}

// missing finds the waiting steps of a session whose message has not come, and for each how long it may still take. It
// acknowledges messages of steps that no longer wait.
func (s *Steps) missing(session sessions.ID, waiting []sessions.Run) map[sessions.RunID]time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.steps[session]
	if len(known) > 0 && len(waiting) < queue.MaxWaiting { // else there may be more
		for id, st := range known {
			if !has(waiting, id) {
				s.stale.Inc()
				s.forget(session, id, st)
			}
		}
	}
	var missing map[sessions.RunID]time.Duration
	for _, run := range waiting {
		if !run.Kind.Step() || run.Status != sessions.RunQueued {
			continue
		}
		st := s.of(session, run.ID, run.Partition)
		if st.ack != nil {
			continue
		}
		if st.since.IsZero() {
			st.since = s.Now()
			s.Bus.ReadSteps(run.Partition)
		}
		if missing == nil {
			missing = map[sessions.RunID]time.Duration{}
		}
		missing[run.ID] = min(firstMiss<<min(st.tries, 10), lastMiss) - s.Now().Sub(st.since)
	}
	return missing
}

func has(runs []sessions.Run, id sessions.RunID) bool {
	for i := range runs {
		if runs[i].ID == id {
			return true
		}
	}
	return false
}

// republish publishes a missing step again, under a new name: the bus may remember the old one and have lost the message.
// It returns when to look again.
func (s *Steps) republish(ctx context.Context, run sessions.Run) (time.Duration, error) {
	x, err := s.Store.Exchange(ctx, run.Exchange)
	if err != nil {
		return 0, fmt.Errorf("read exchange of step %s: %w", run.ID, err)
	}
	s.mu.Lock()
	st := s.of(run.Session, run.ID, run.Partition)
	st.since = s.Now()
	st.tries++
	tries := st.tries
	s.mu.Unlock()
	s.again.Inc()
	s.publish(run, x, string(run.ID)+"/"+strconv.Itoa(tries))
	return min(firstMiss<<min(tries, 10), lastMiss), nil
}

// Released forgets the steps of a partition. Its next owner gets their messages.
func (s *Steps) Released(partition int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session, runs := range s.steps {
		for id, st := range runs {
			if st.partition == partition {
				delete(runs, id)
			}
		}
		if len(runs) == 0 {
			delete(s.steps, session)
		}
	}
}
