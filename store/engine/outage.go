package engine

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// outage knows whether the database is unavailable, and logs once when it becomes unavailable and once when it is
// back. While the database works, this costs one atomic read.
type outage struct {
	log *slog.Logger
	// turns counts the changes between available and unavailable. While it is odd, the database is unavailable.
	turns atomic.Int64

	mu     sync.Mutex
	writes bool // a write has failed: only a successful write ends the outage
	since  time.Time
	faults int
}

// begin marks the start of a read or write, for end.
func (o *outage) begin() int64 { return o.turns.Load() }

// end takes the result of a read or write. A success that started before the outage says nothing.
func (o *outage) end(began int64, write bool, err error) {
	fault, ok := errors.AsType[*Unavailable](err)
	switch away := began%2 == 1; {
	case ok:
		o.failed(began, write, fault)
	case err == nil && away:
		o.worked(began, write)
	}
}

func (o *outage) failed(began int64, write bool, fault *Unavailable) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.turns.Load()
	if now%2 == 0 && now != began {
		return // from an outage that is over
	}
	o.writes = o.writes || write
	o.faults++
	if now%2 == 1 {
		return
	}
	o.since, o.faults = time.Now(), 1
	o.turns.Add(1)
	cause := ""
	if fault.Err != nil {
		cause = fault.Err.Error()
	}
	o.log.Error("the database is unavailable: writes wait", "reason", fault.Reason, "fix", fault.Fix, "cause", cause)
}

func (o *outage) worked(began int64, write bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.turns.Load() != began || o.writes && !write {
		return
	}
	o.writes = false
	o.turns.Add(1)
	o.log.Info("the database is available again", "away_for", time.Since(o.since).Round(time.Millisecond).String(), "failed", o.faults)
}
