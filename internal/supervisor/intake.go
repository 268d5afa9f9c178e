package supervisor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sluice/adapters"
)

const (
	deafAfter    = 30 * time.Second // without an accepted event, although some arrived or wait
	backlogEvery = time.Minute
	backlogLimit = 30 * time.Second // for one query
)

// intake accepts an account's events and notices when that stops working: because accepting fails or hangs, or
// because events wait on the platform and do not arrive. It is safe for concurrent use.
type intake struct {
	in  adapters.Acceptor
	now func() time.Time

	mu      sync.Mutex
	taken   time.Time // the last accepted event; zero: none
	count   int       // number of accepted events
	running map[int]time.Time
	next    int
	failing time.Time // when the first of the failed attempts since then began; zero while all succeed
	why     string    // error of the last failed attempt
	pending int       // the last count from the platform
	waits   time.Time // since when events wait on the platform and none is accepted; zero: not now
	detail  string    // the platform's explanation
}

func newIntake(in adapters.Acceptor, now func() time.Time) *intake {
	return &intake{in: in, now: now, running: map[int]time.Time{}}
}

// Accept implements [adapters.Acceptor].
func (e *intake) Accept(ctx context.Context, in adapters.Inbound) (err error) {
	id, began := e.begin()
	ended := false
	defer func() { e.end(ctx, id, began, ended && err == nil, err) }() // a panic counts as a failure and continues
	err = e.in.Accept(ctx, in)
	ended = true
	return err
}

func (e *intake) begin() (id int, began time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next++
	e.running[e.next] = e.now()
	return e.next, e.running[e.next]
}

func (e *intake) end(ctx context.Context, id int, began time.Time, taken bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.running, id)
	switch {
	case taken:
		e.taken, e.count = e.now(), e.count+1
		e.failing, e.why, e.waits = time.Time{}, "", time.Time{}
	case ctx.Err() != nil: // the stop, or a disconnected client
	default:
		if e.failing.IsZero() {
			e.failing = began
		}
		e.why = fmt.Sprint(err)
	}
}

// restart forgets earlier problems: this replica starts to receive for the account.
func (e *intake) restart() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failing, e.why, e.waits, e.pending = time.Time{}, "", time.Time{}, 0
}

// backlog records how many events wait on the platform. taken is the number of accepted events at the time of the
// previous query: while some are accepted, others may wait.
func (e *intake) backlog(waiting int, detail string, taken int) (now int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pending, e.detail = waiting, detail
	switch {
	case waiting == 0 || e.count != taken:
		e.waits = time.Time{}
	case e.waits.IsZero():
		e.waits = e.now()
	}
	return e.count
}

// deaf returns why events are not accepted, and since when; empty if they are.
func (e *intake) deaf() (why string, since time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.failing.IsZero() {
		if d := e.now().Sub(e.failing); d > deafAfter {
			return fmt.Sprintf("messages have not been accepted for %s: %s", d.Round(time.Second), e.why), e.failing
		}
	}
	for _, began := range e.running {
		if d := e.now().Sub(began); d > deafAfter {
			return fmt.Sprintf("a message has been waiting for %s to be stored", d.Round(time.Second)), began
		}
	}
	if d := e.now().Sub(e.waits); !e.waits.IsZero() && d > deafAfter {
		text := fmt.Sprintf("%d events are waiting on the platform, and none has arrived for %s", e.pending, d.Round(time.Second))
		if e.detail != "" {
			text += ": " + e.detail
		}
		return text, e.waits
	}
	return "", time.Time{}
}

// heard returns when the last event was accepted, and how many were waiting at the last query.
func (e *intake) heard() (last time.Time, pending int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.taken, e.pending
}
