// Package clock is the clock of a gateway. Gateways that share a database take the time from the database, so that they agree about
// every time that one of them stores and another one compares with its own. If somebody sets the clock of a machine, nothing changes for its
// gateway: between two looks at the database, the time that has passed is measured by the machine's monotonic clock.
package clock

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"sluice/internal/pause"
)

const (
	lookEvery   = 10 * time.Second
	lookTimeout = 5 * time.Second
	// exact is how far the clock may be off before it is set: two clocks drift apart by some milliseconds an hour.
	exact = 100 * time.Millisecond
	// worthTelling is how far a machine's clock may be off before the log says so.
	worthTelling = 5 * time.Second
)

// Ask reads another clock.
type Ask func(ctx context.Context) (time.Time, error)

// Clock is the machine's clock until it follows another one. It is safe for concurrent use.
type Clock struct {
	machine func() time.Time
	follows atomic.Pointer[moment]
	told    atomic.Bool // the log says that the machine's clock is off
}

// moment is one moment on both clocks.
type moment struct {
	machine time.Time // with the monotonic clock
	other   time.Time
}

// New is the clock of a machine, whose times have a monotonic reading, as those of [time.Now] do.
func New(machine func() time.Time) *Clock { return &Clock{machine: machine} }

// Now is the time.
func (c *Clock) Now() time.Time {
	now := c.machine()
	if m := c.follows.Load(); m != nil {
		return m.at(now)
	}
	return now
}

// at is the other clock's time.
func (m *moment) at(machine time.Time) time.Time { return m.other.Add(machine.Sub(m.machine)) }

// Look sets the clock by another one. A clock that is as right as the answer can tell is left alone, so that time does not jump back. It must
// not be called by two goroutines at once.
func (c *Clock) Look(ctx context.Context, ask Ask, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	asked := c.machine()
	other, err := ask(ctx)
	if err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	now := c.machine()
	doubt := now.Sub(asked) / 2 // it was read at some moment between asked and now
	other = other.Add(doubt).Round(0).In(now.Location())
	if m := c.follows.Load(); m == nil || other.Sub(m.at(now)).Abs() > doubt+exact {
		c.follows.Store(&moment{now, other})
	}
	off := now.Round(0).Sub(other)
	switch is := off.Abs() > doubt+worthTelling; {
	case is && !c.told.Swap(true):
		log.Warn("this machine's clock differs from the database's: set it, for example with NTP; until then the gateway uses the database's", "machine_ahead_by", off.Round(time.Second).String())
	case !is && c.told.Swap(false):
		log.Info("this machine's clock is right again")
	}
	return nil
}

// Follow looks at another clock regularly until ctx ends. While the other clock can't be read, time goes on from the last look.
func (c *Clock) Follow(ctx context.Context, ask Ask, log *slog.Logger) {
	pause.Rounds(ctx, lookEvery, lookEvery, log, func(ctx context.Context) {
		if err := c.Look(ctx, ask, log); err != nil && ctx.Err() == nil {
			log.Debug("clock not compared", "err", err) // the log already says that the database is unavailable
		}
	})
}
