package checks

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"sluice/router/ledger"
)

// askWait is how long Ask waits for the looks that it begins. Most end within it.
const askWait = 200 * time.Millisecond

// looks are the looks that go on for those who have asked, by the names of the checks.
type looks struct {
	mu      sync.Mutex
	ctx     context.Context // of all looks
	stop    context.CancelFunc
	stopped bool
	going   map[string]chan struct{} // closed at the end of the look
	all     sync.WaitGroup
}

func (l *looks) begin() {
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.going = map[string]chan struct{}{}
}

// Stop ends all looks that go on, and waits for them. No further one begins.
func (c *Checks) Stop() {
	c.looks.mu.Lock()
	c.looks.stopped = true
	c.looks.mu.Unlock()
	c.looks.stop()
	c.looks.all.Wait()
}

// Ask gives what checks have found at or after a time, or recently enough for their `every`. Others look at their sources now. If
// that takes longer than a moment, nothing is given, and pending says so: ask again with the same time. So the caller is
// never held up by a slow source.
func (c *Checks) Ask(ctx context.Context, names []string, since time.Time) (found []ledger.Check, pending bool, err error) {
	var begun []<-chan struct{}
	for _, name := range names {
		_, current, err := c.current(ctx, name, since)
		if err != nil {
			return nil, false, fmt.Errorf("check %s: %w", name, err)
		}
		if current {
			continue
		}
		if done, is := c.lookAside(name); is {
			begun = append(begun, done)
		} else {
			pending = true
		}
	}
	if !endSoon(ctx, begun) || pending {
		return nil, true, ctx.Err()
	}
	return c.found(ctx, names, since)
}

// endSoon waits briefly for looks, and reports whether all have ended.
func endSoon(ctx context.Context, looks []<-chan struct{}) bool {
	if len(looks) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	for _, done := range looks {
		select {
		case <-done:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// found gives what all of the checks have found, if all are current.
func (c *Checks) found(ctx context.Context, names []string, since time.Time) (all []ledger.Check, pending bool, err error) {
	for _, name := range names {
		row, current, err := c.current(ctx, name, since)
		if err != nil || !current {
			return nil, err == nil, err
		}
		all = append(all, row)
	}
	return all, false, nil
}

// current is the row of a check, and whether it is recent enough.
func (c *Checks) current(ctx context.Context, name string, since time.Time) (ledger.Check, bool, error) {
	e, ok := (*c.list.Load())[name]
	if !ok {
		return ledger.Check{}, false, ErrUnknown
	}
	row, err := c.read(ctx, e)
	return row, !row.Looked.IsZero() && !row.Looked.Before(since) || c.fresh(e, &row), err
}

// lookAside lets a check look in a goroutine. Begun is false if one looks already, or after the stop.
func (c *Checks) lookAside(name string) (done <-chan struct{}, begun bool) {
	l := &c.looks
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || l.going[name] != nil {
		return nil, false
	}
	end := make(chan struct{})
	l.going[name] = end
	l.all.Go(func() {
		defer func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			delete(l.going, name)
			close(end)
		}()
		if err := c.guardedLook(l.ctx, name); err != nil && l.ctx.Err() == nil && !errors.Is(err, ErrUnknown) {
			c.Log.Error("check can't be looked at, trying again when it is asked for", "check", name, "err", err)
		}
	})
	return end, true
}

// guardedLook is Look, which turns a panic into an error.
func (c *Checks) guardedLook(ctx context.Context, name string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	_, err = c.Look(ctx, name, false)
	return err
}
