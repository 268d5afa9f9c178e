package denials

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	// interval is how often denials are stored. It follows the clock and not the denial, so that no commit tells a caller
	// that what they have named exists.
	interval = time.Minute
	// queueSize is how many denials can wait to be counted.
	queueSize = 1024
	// kindsMax is how many different denials of one actor are listed separately within a minute.
	kindsMax = 64
	// batchSize is how many entries one commit has, and commitTimeout how long it may take.
	batchSize     = 100
	commitTimeout = 10 * time.Second
)

// key is what equal denials share.
type key struct {
	actor, kind, object string
	why                 Reason
}

// denial is something a caller was not shown or not allowed to do. Its label is that of the object.
type denial struct {
	key
	operation string
	session   sessions.ID
	label     flow.Label
	level     flow.Level // of the caller
	role      auth.Role

	count       int
	first, last time.Time
}

// Committer stores a change in one durable transaction, as the store does.
type Committer interface {
	Commit(ctx context.Context, c ledger.Change) error
}

// Config is what a Trail needs. All fields are required.
type Config struct {
	Store      Committer
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Trail collects denials and stores them.
//
// Goroutines: run, which alone has open and kinds; Stop waits for it.
type Trail struct {
	cfg     Config
	queue   chan denial
	open    map[key]*denial
	kinds   map[string]int // different denials of an actor in open
	lost    prometheus.Counter
	dropped atomic.Int64 // since the last log line about it

	ctx     context.Context // of the commits
	cancel  context.CancelFunc
	ending  chan struct{}
	once    sync.Once
	running sync.WaitGroup
}

// New makes a Trail; it stores nothing before Start.
func New(cfg Config) *Trail {
	t := &Trail{
		cfg: cfg, queue: make(chan denial, queueSize), open: map[key]*denial{}, kinds: map[string]int{}, ending: make(chan struct{}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "sluice", Subsystem: "http", Name: "denials_dropped_total", Help: "Denials missing from the audit trail because there were too many at once or the store failed at the end.",
		}),
	}
	cfg.Registerer.MustRegister(t.lost)
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// note hands a denial over. It never waits: if the queue is full, the denial is counted and dropped.
func (t *Trail) note(n denial) {
	n.first = t.cfg.Now()
	select {
	case t.queue <- n:
	default:
		t.drop(1)
	}
}

func (t *Trail) drop(n int) {
	t.lost.Add(float64(n))
	t.dropped.Add(int64(n))
}

// Start begins to store denials.
func (t *Trail) Start() { t.running.Go(t.run) }

// Stop stores what is left, within ctx, and ends the goroutine. It is idempotent.
func (t *Trail) Stop(ctx context.Context) {
	release := context.AfterFunc(ctx, t.cancel)
	defer release()
	t.once.Do(func() { close(t.ending) })
	t.running.Wait()
	t.cancel()
}

func (t *Trail) run() {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case n := <-t.queue:
			t.add(n)
		case <-tick.C:
			t.flush()
		case <-t.ending:
			t.finish()
			return
		}
	}
}

// finish stores what is left.
func (t *Trail) finish() {
	for len(t.queue) > 0 { // nobody else takes from it
		t.add(<-t.queue)
	}
	t.flush()
	for _, n := range t.open {
		t.drop(n.count)
	}
	t.complain()
}

// add counts a denial with its equals. Beyond kindsMax different ones, the rest of an actor's denials count as one.
func (t *Trail) add(n denial) {
	n.count, n.last = 1, n.first
	known := t.open[n.key]
	if known == nil && t.kinds[n.actor] >= kindsMax {
		n.key, n.session = key{actor: n.actor, why: tooMany}, ""
		known = t.open[n.key]
	}
	if known == nil {
		t.open[n.key] = &n
		t.kinds[n.actor]++
		return
	}
	known.count++
	known.last, known.label = n.last, known.label.Join(n.label)
}

// flush stores the counted denials. If that fails they are kept for the next time.
func (t *Trail) flush() {
	defer t.complain()
	all := slices.SortedFunc(maps.Values(t.open), func(a, b *denial) int {
		return cmp.Or(a.first.Compare(b.first), cmp.Compare(a.actor, b.actor), cmp.Compare(a.kind, b.kind), cmp.Compare(a.object, b.object), cmp.Compare(a.why, b.why))
	})
	for batch := range slices.Chunk(all, batchSize) {
		var change ledger.Change
		for _, n := range batch {
			change.Audit = append(change.Audit, n.entry())
		}
		if err := t.store(change); err != nil {
			t.cfg.Log.Error("cannot store denials in the audit trail; trying again within a minute", "denials", len(t.open), "err", err)
			return
		}
		for _, n := range batch {
			delete(t.open, n.key)
			t.kinds[n.actor]--
			if t.kinds[n.actor] == 0 {
				delete(t.kinds, n.actor)
			}
		}
	}
}

func (t *Trail) store(change ledger.Change) error {
	ctx, cancel := context.WithTimeout(t.ctx, commitTimeout)
	defer cancel()
	return t.cfg.Store.Commit(ctx, change)
}

// complain logs how many denials were dropped since its last line.
func (t *Trail) complain() {
	if n := t.dropped.Swap(0); n > 0 {
		t.cfg.Log.Warn("denials are missing from the audit trail: there were too many at once, or the store failed", "dropped", n)
	}
}

// entry is the denial as an entry of the audit trail. A missing label is the highest.
func (n *denial) entry() sessions.AuditEntry {
	label := n.label
	if !label.Valid() {
		label = flow.Top()
	}
	return sessions.AuditEntry{
		At: n.first, Actor: n.actor, Action: "http.denied", Object: n.object, Session: n.session, Label: label,
		Detail: detail{
			Kind: n.kind, Operation: n.operation, Reason: n.why, Level: n.level, Role: n.role, Count: n.count, Last: n.last.UTC(),
		},
	}
}

// detail is what an entry says about a denial.
type detail struct {
	Kind      string     `json:"kind,omitempty"` // of the object; empty: of many
	Operation string     `json:"operation"`      // of the first one
	Reason    Reason     `json:"reason"`
	Level     flow.Level `json:"level,omitzero"` // the highest level of the caller; absent: unknown caller
	Role      auth.Role  `json:"role,omitempty"`
	Count     int        `json:"count"`
	Last      time.Time  `json:"last"`
}
