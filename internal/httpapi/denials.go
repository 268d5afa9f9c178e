package httpapi

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

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	// denialsEvery is how often denials are stored. It is the clock's and not a denial's minute, so that
	// no commit tells a caller that what they have named is there.
	denialsEvery = time.Minute
	// denialsMost is how many denials wait to be counted.
	denialsMost = 1024
	// denialKinds is how many different denials of one actor are told apart in a minute.
	denialKinds = 64
	// denialBatch is how many entries are one commit, and denialsTimeout how long that may take.
	denialBatch    = 100
	denialsTimeout = 10 * time.Second
	// whyMany stands for what is more than denialKinds.
	whyMany = "more different ones than are told apart"
)

// denialKey is what makes denials the same.
type denialKey struct{ actor, kind, object, why string }

// denial is what somebody was not told. Its label is that of what it is about.
type denial struct {
	denialKey
	operation string
	session   sessions.ID
	label     flow.Label
	level     flow.Level // of the caller
	role      Role

	count       int
	first, last time.Time
}

// denials puts what callers were not told into the audit trail. Requests only hand it over, whatever the store
// does; what is the same within a minute is one entry.
//
// Goroutines: run, which alone has open; stop waits for it.
type denials struct {
	queue   chan denial
	open    map[denialKey]*denial
	kinds   map[string]int // different ones of an actor in open
	commit  func(ctx context.Context, c ledger.Change) error
	now     func() time.Time
	log     *slog.Logger
	lost    prometheus.Counter
	dropped atomic.Int64 // since the last line about it

	ctx     context.Context // of the commits
	cancel  context.CancelFunc
	ending  chan struct{}
	once    sync.Once
	running sync.WaitGroup
}

func newDenials(cfg Config) *denials {
	d := &denials{
		queue: make(chan denial, denialsMost), open: map[denialKey]*denial{}, kinds: map[string]int{}, ending: make(chan struct{}),
		commit: cfg.Store.Commit, now: cfg.Now, log: cfg.Log,
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "sluice", Subsystem: "http", Name: "denials_dropped_total", Help: "Denials that are not in the audit trail, as there were too many at once or the store failed at the end.",
		}),
	}
	cfg.Registerer.MustRegister(d.lost)
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// note hands a denial over. It never waits: one that finds no room is counted and dropped.
func (d *denials) note(n denial) {
	n.first = d.now()
	select {
	case d.queue <- n:
	default:
		d.drop(1)
	}
}

func (d *denials) drop(n int) {
	d.lost.Add(float64(n))
	d.dropped.Add(int64(n))
}

func (d *denials) start() { d.running.Go(d.run) }

// stop stores what there is within ctx. It is idempotent.
func (d *denials) stop(ctx context.Context) {
	release := context.AfterFunc(ctx, d.cancel)
	defer release()
	d.once.Do(func() { close(d.ending) })
	d.running.Wait()
	d.cancel()
}

func (d *denials) run() {
	tick := time.NewTicker(denialsEvery)
	defer tick.Stop()
	for {
		select {
		case n := <-d.queue:
			d.add(n)
		case <-tick.C:
			d.flush()
		case <-d.ending:
			d.finish()
			return
		}
	}
}

// finish stores what is left.
func (d *denials) finish() {
	for len(d.queue) > 0 { // nobody else takes from it
		d.add(<-d.queue)
	}
	d.flush()
	for _, n := range d.open {
		d.drop(n.count)
	}
	d.complain()
}

// add counts a denial with those that are the same. What is about too many things is told as one.
func (d *denials) add(n denial) {
	n.count, n.last = 1, n.first
	known := d.open[n.denialKey]
	if known == nil && d.kinds[n.actor] >= denialKinds {
		n.denialKey, n.session = denialKey{actor: n.actor, why: whyMany}, ""
		known = d.open[n.denialKey]
	}
	if known == nil {
		d.open[n.denialKey] = &n
		d.kinds[n.actor]++
		return
	}
	known.count++
	known.last, known.label = n.last, known.label.Join(n.label)
}

// flush stores what has been counted. What can't be stored now is kept for the next time.
func (d *denials) flush() {
	defer d.complain()
	all := slices.SortedFunc(maps.Values(d.open), func(a, b *denial) int {
		return cmp.Or(a.first.Compare(b.first), cmp.Compare(a.actor, b.actor), cmp.Compare(a.kind, b.kind), cmp.Compare(a.object, b.object), cmp.Compare(a.why, b.why))
	})
	for batch := range slices.Chunk(all, denialBatch) {
		var change ledger.Change
		for _, n := range batch {
			change.Audit = append(change.Audit, n.entry())
		}
		if err := d.store(change); err != nil {
			d.log.Error("denials are not stored in the audit trail yet", "denials", len(d.open), "err", err)
			return
		}
		for _, n := range batch {
			delete(d.open, n.denialKey)
			d.kinds[n.actor]--
			if d.kinds[n.actor] == 0 {
				delete(d.kinds, n.actor)
			}
		}
	}
}

func (d *denials) store(change ledger.Change) error {
	ctx, cancel := context.WithTimeout(d.ctx, denialsTimeout)
	defer cancel()
	return d.commit(ctx, change)
}

// complain says in one line how many were dropped since the last one.
func (d *denials) complain() {
	if n := d.dropped.Swap(0); n > 0 {
		d.log.Warn("denials are not in the audit trail: there were too many at once, or the store fails", "dropped", n)
	}
}

// entry is the entry of the audit trail. A label that was lost is the top.
func (n *denial) entry() sessions.AuditEntry {
	label := n.label
	if !label.Valid() {
		label = flow.Top()
	}
	return sessions.AuditEntry{
		At: n.first, Actor: n.actor, Action: "http.denied", Object: n.object, Session: n.session, Label: label,
		Detail: denialDetail{
			Kind: n.kind, Operation: n.operation, Reason: n.why, Level: n.level, Role: n.role, Count: n.count, Last: n.last.UTC(),
		},
	}
}

// denialDetail is what an entry says of a denial.
type denialDetail struct {
	Kind      string     `json:"kind,omitempty"` // of the object; none: of many
	Operation string     `json:"operation"`      // of the first
	Reason    string     `json:"reason"`
	Level     flow.Level `json:"level,omitzero"` // the most that the caller sees; none: they are unknown
	Role      Role       `json:"role,omitempty"`
	Count     int        `json:"count"`
	Last      time.Time  `json:"last"`
}
