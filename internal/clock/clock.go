// Package clock is the clock of a gateway. Gateways that share a database take the time from the database, so that they agree about
// every time that one of them stores and another one compares with its own. Setting the clock of a machine does not affect its
// gateway: between two readings of the database's clock, the machine's monotonic clock measures the time.
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
	// driftMax is how far the clock may be off before it is set: two clocks drift apart by some milliseconds an hour.
	driftMax = 100 * time.Millisecond
	// warnAbove is how far a machine's clock may be off before the log warns.
	warnAbove = 5 * time.Second
)

// Ask reads another clock.
type Ask func(ctx context.Context) (time.Time, error)

// Clock is the machine's clock until it follows another one. It is safe for concurrent use.
type Clock struct {
	machine func() time.Time
	follows atomic.Pointer[moment]
	warned  atomic.Bool // the log says that the machine's clock is off
}

// moment is one moment on both clocks.
type moment struct {
	machine time.Time // with the monotonic clock
	other   time.Time
}

// New returns the clock of a machine. The times of machine have a monotonic reading, as those of [time.Now] do.
func New(machine func() time.Time) *Clock { return &Clock{machine: machine} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	now := c.machine()
	if m := c.follows.Load(); m != nil {
		return m.at(now)
	}
	return now
}

// at returns the other clock's time when the machine's clock shows the given one.
func (m *moment) at(machine time.Time) time.Time { return m.other.Add(machine.Sub(m.machine)) }

// Look reads another clock and sets this one by it. A difference that the reading can't tell from its own error changes nothing, so
// that the time does not jump back. Two goroutines must not call it at once.
func (c *Clock) Look(ctx context.Context, ask Ask, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	asked := c.machine()
	other, err := ask(ctx)
	if err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	now := c.machine()
	errorMax := now.Sub(asked) / 2 // the clock was read at some moment between asked and now
	other = other.Add(errorMax).Round(0).In(now.Location())
	if m := c.follows.Load(); m == nil || other.Sub(m.at(now)).Abs() > errorMax+driftMax {
		c.follows.Store(&moment{now, other})
	}
	off := now.Round(0).Sub(other)
	switch is := off.Abs() > errorMax+warnAbove; {
	case is && !c.warned.Swap(true):
		log.Warn("this machine's clock differs from the database's, which the gateway uses: set the machine's clock, for example with NTP", "machine_ahead_by", off.Round(time.Second).String())
	case !is && c.warned.Swap(false):
		log.Info("this machine's clock is right again")
	}
	return nil
}

// Follow calls Look regularly until ctx ends. While the other clock can't be read, time goes on from the last reading.
func (c *Clock) Follow(ctx context.Context, ask Ask, log *slog.Logger) {
	pause.Rounds(ctx, lookEvery, lookEvery, log, func(ctx context.Context) {
		if err := c.Look(ctx, ask, log); err != nil && ctx.Err() == nil {
			log.Debug("clock not compared", "err", err) // the log already says that the database is unavailable
		}
	})
}
