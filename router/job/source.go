package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/trigger"
	"sluice/sessions"
)

// Lanes wakes the owners of partitions, see [lanes.Lanes].
type Lanes interface {
	Wake(partition int, lane sessions.Lane)
	Owns(partition int) bool
}

// Store is what jobs need of the database.
type Store interface {
	Job(ctx context.Context, origin ledger.JobOrigin, id string) (ledger.Job, error)
	JobsIn(ctx context.Context, partition int) ([]ledger.Job, error)
	TriggersOf(ctx context.Context, keys []string) ([]ledger.Trigger, error)
	EndedTriggers(ctx context.Context, q ledger.EndedTriggers) ([]ledger.Trigger, error)
	History
}

// Reader reads jobs that were made at run time, by the configuration's rules.
type Reader interface {
	// ReadJob gives the job of a row. The error says what is wrong with its object.
	ReadJob(row ledger.Job) (Job, error)
}

// Source is a [trigger.Planner] and a [trigger.Ender]. All fields but Checks and Instructions are required. It is safe for concurrent use.
type Source struct {
	Store      Store
	Lanes      Lanes
	Settings   func() *place.Settings
	Partitions int // the same on all replicas
	Now        func() time.Time
	Report     func(job string, err error) // logs an error of a job
	Metrics    *Metrics
	// Checks has what checks find; nil if no job has checks.
	Checks Checks
	// Instructions reads the instructions of an agent's heartbeat; nil if no agent has one.
	Instructions func(agent string) (string, error)
	// Alerts takes in the alerts of jobs that have one in OnFailure.
	Alerts Alerts

	jobs atomic.Pointer[configured]
}

// configured are the jobs of one configuration, which also says how others are read.
type configured struct {
	version int64
	list    []Job
	reader  Reader
}

// of finds a job.
func (c *configured) of(id string) (*Job, bool) {
	i := slices.IndexFunc(c.list, func(j Job) bool { return j.ID == id })
	if i < 0 {
		return nil, false
	}
	return &c.list[i], true
}

// current are the present jobs.
func (s *Source) current() *configured {
	if all := s.jobs.Load(); all != nil {
		return all
	}
	return &configured{}
}

// Configure replaces the jobs, and the reader of those made at run time. The owners of the partitions plan what is new and
// withdraw what is gone. It must not be called by two goroutines at once.
func (s *Source) Configure(list []Job, reader Reader) {
	s.jobs.Store(&configured{s.current().version + 1, slices.Clone(list), reader})
	for p := range s.Partitions {
		if s.Lanes.Owns(p) {
			s.Lanes.Wake(p, ledger.DueLane)
		}
	}
}

// Configured are the jobs of the configuration.
func (s *Source) Configured() []Job { return s.current().list }

// errNoReader is the error of a gateway without a configuration of jobs.
var errNoReader = errors.New("jobs can't be read yet: the gateway is starting")

// Read gives the job of a row.
func (s *Source) Read(row ledger.Job) (Job, error) {
	if reader := s.current().reader; reader != nil {
		return reader.ReadJob(row)
	}
	return Job{}, errNoReader
}

// Version implements [trigger.Planner].
func (s *Source) Version() int64 { return s.current().version }

// In implements [trigger.Planner].
func (s *Source) In(partition int) bool {
	return slices.ContainsFunc(s.current().list, func(j Job) bool { return Partition(j.ID, s.Partitions) == partition })
}

// Why triggers are withdrawn.
const (
	whyChanged = "the job was changed or removed"
	WhyPaused  = "the job is paused"
)

// find finds a job, and why its instants are not fired; empty: they are. Without a job there always is a reason.
func (s *Source) find(ctx context.Context, id string) (job *Job, why string, err error) {
	job, listed := s.current().of(id)
	origin := ledger.JobMade
	if listed {
		origin = ledger.JobOfFile
	}
	row, err := s.Store.Job(ctx, origin, id)
	switch {
	case errors.Is(err, sessions.ErrNotFound) && listed:
		return job, "", nil
	case errors.Is(err, sessions.ErrNotFound):
		return nil, whyChanged, nil
	case err != nil:
		return nil, "", fmt.Errorf("read job: %w", err)
	case !listed:
		if read, err := s.Read(row); err != nil {
			why = "the job is not valid: " + err.Error()
		} else {
			job = &read
		}
	}
	if row.Paused {
		why = WhyPaused
	}
	return job, why, nil
}

// Fire implements [trigger.Source].
func (s *Source) Fire(ctx context.Context, t *ledger.Trigger) (trigger.Effect, error) {
	job, why, err := s.find(ctx, t.Subject)
	switch byHand := t.By != "" && job != nil; {
	case err != nil:
		return trigger.Effect{}, err
	case byHand:
		return s.byHand(ctx, job, t)
	case why == "" && job.Plan != t.Plan && !t.Begun():
		why = whyChanged
	}
	if why != "" {
		return trigger.Effect{End: ledger.TriggerWithdrawn, Why: why}, nil
	}
	before, err := s.before(ctx, t)
	if err != nil {
		return trigger.Effect{}, err
	}
	if t.Begun() {
		return s.again(job, t, before), nil
	}
	return s.due(ctx, job, t, before)
}

// again fires an instant that was queued, or whose run has failed.
func (s *Source) again(job *Job, t, before *ledger.Trigger) trigger.Effect {
	wait := trigger.Effect{Wait: overlapPause(t.Instant, s.Now())}
	if t.Queued && before != nil {
		return wait
	}
	e := s.effect(job, t)
	if old := *t; e.Run != nil && len(job.Checks) > 0 {
		e.Run.Busy = func(t *ledger.Trigger) trigger.Effect {
			*t = old
			return wait
		}
	}
	t.Queued = false
	return e
}

// due fires an instant, and stores the next one. The trigger before it still works, or is nil.
func (s *Source) due(ctx context.Context, job *Job, t, before *ledger.Trigger) (trigger.Effect, error) {
	now := s.Now()
	if e, over := s.overdue(job, t, now); over {
		return e, nil
	}
	c, old := job.clashes(t, before, now), *t
	switch {
	case job.watches() && (c.skip != "" || !job.Hours.Contain(now)):
		return s.pass(job, t), nil // the news are told later
	case job.watches():
		if e, err := s.look(ctx, job, t); e != nil || err != nil {
			return *cmp.Or(e, &trigger.Effect{}), err
		}
		var asks bool
		if job, asks = s.asking(job, t); !asks {
			return s.pass(job, t), nil
		}
	case c.skip != "":
		return trigger.Effect{End: ledger.TriggerSkipped, Why: c.skip, Change: ledger.Change{Triggers: job.follow(t, t.Instant, now, false)}}, nil
	}
	e := trigger.Effect{Wait: overlapLook}
	if t.Queued = c.queue; !c.queue {
		e = s.effect(job, t)
	}
	if e.Run != nil && job.watches() {
		e.Run.Busy = func(t *ledger.Trigger) trigger.Effect {
			*t = old
			return s.pass(job, t) // the news are told later
		}
	}
	e.Change.Triggers = append(job.follow(t, t.Instant, now, true), c.withdrawn...)
	e.Skipped.Triggers = job.follow(t, t.Instant, now, false)
	e.Change.Interrupt = c.interrupt
	return e, nil
}

// overdue ends a trigger from whose instant on others have passed, or which is too old to be fired. A job that waits for news
// goes on with the latest instant without a record: one look tells as much as many.
func (s *Source) overdue(job *Job, t *ledger.Trigger, now time.Time) (trigger.Effect, bool) {
	if !t.Asked.IsZero() {
		return trigger.Effect{}, false
	}
	past := job.since(t, now)
	switch {
	case past.late:
		return s.missed(t, past.before+1, job.follow(t, past.latest, now, false)), true
	case past.before > 0 && job.watches():
		t.Instant = past.latest
	case past.before > 0:
		latest := job.waiting(t.Anchor, past.latest, now)
		latest.Partition, latest.Count, latest.Before, latest.Seen = t.Partition, t.Count, t.Before, t.Seen
		return s.missed(t, past.before, []ledger.Trigger{latest}), true
	}
	return trigger.Effect{}, false
}

// effect is what a job does.
func (s *Source) effect(job *Job, t *ledger.Trigger) trigger.Effect {
	now, due := s.Now(), t.Due
	if job.Made { // what it says may have changed since the trigger was stored
		t.Label, t.Names = t.Label.Join(job.Label), job.Label
	}
	e := trigger.Effect{
		Text: job.Text, Deliver: job.Deliver,
		Change: ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{{
			At: now, Actor: t.Actor(), Action: "cron.fired", Object: t.Key, Label: t.Label, Detail: map[string]int{"targets": len(job.Deliver.To)},
		}}}},
	}
	switch {
	case t.Attempts > 0:
		e.Change.Audit[0].Action = "cron.retried"
	case t.Queued:
		e.Stored = s.Metrics.Fired.Inc
	default:
		e.Stored = func() {
			s.Metrics.Fired.Inc()
			s.Metrics.Lag.Observe(now.Sub(due).Seconds())
		}
	}
	switch {
	case job.Prompt != "":
		e.Run = s.run(job, t)
	case job.Text == "":
		e.Text = newsText(t.Found)
	}
	return e
}

// run is what a job asks its agent.
func (s *Source) run(job *Job, t *ledger.Trigger) *trigger.Run {
	settings := s.Settings()
	r := &trigger.Run{
		Session: sessions.Key(job.Session), Agent: cmp.Or(job.Agent, settings.Agent), Text: job.Prompt, Label: job.label(),
		Owner: job.Owner, Clearance: job.Clearance, Timeout: job.Timeout, Model: job.Model,
	}
	for _, n := range t.Found {
		r.Quotations = append(r.Quotations, quotation(&n))
		r.Label = r.Label.Join(n.Label)
	}
	for _, w := range t.Wakes {
		r.Quotations = append(r.Quotations, sessions.Quotation{Kind: sessions.QuoteWake, From: w.From, Text: w.Text})
		r.Label = r.Label.Join(w.Label)
		r.Owner = r.Owner && w.Label.Trust() == flow.Trusted // else it does what somebody else says
	}
	switch job.Session {
	case "", Isolated:
		r.Session, r.Fresh = sessions.Key("cron:"+job.ID), true
	case Main:
		r.Session = settings.Keyer.Main(r.Agent)
	}
	return r
}

// missed ends a trigger whose time passed while no gateway was running.
func (s *Source) missed(t *ledger.Trigger, instants int, then []ledger.Trigger) trigger.Effect {
	t.Missed = instants
	return trigger.Effect{
		End: ledger.TriggerMissed, Why: "the gateway was not running at that time", Change: ledger.Change{Triggers: then},
		Stored: func() { s.Metrics.Missed.Add(float64(instants)) },
	}
}

// Metrics counts the instants of jobs.
type Metrics struct {
	Fired  prometheus.Counter
	Missed prometheus.Counter
	Passed prometheus.Counter
	Lag    prometheus.Histogram
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "sluice", Subsystem: "cron", Name: name, Help: help})
	}
	m := &Metrics{
		Fired:  counter("fired_total", "Instants of jobs that were fired."),
		Missed: counter("missed_total", "Instants of jobs that passed while no gateway was running."),
		Passed: counter("passed_total", "Instants of jobs with a check at which there was no news, or the agent was busy."),
		Lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "sluice", Subsystem: "cron", Name: "lag_seconds", Help: "From the time at which a job is due to the commit that fires it.",
			Buckets: []float64{.01, .05, .1, .5, 1, 5, 60, 600, 3600},
		}),
	}
	reg.MustRegister(m.Fired, m.Missed, m.Passed, m.Lag)
	return m
}

var (
	_ trigger.Planner = (*Source)(nil)
	_ trigger.Ender   = (*Source)(nil)
)
