package supervisor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sluice/adapters"
)

const (
	deafAfter    = 30 * time.Second // without an event that could be taken, while some came or waited
	backlogEvery = time.Minute
	backlogLimit = 30 * time.Second // for one look
)

// intake takes an account's events in, and knows since when that does not work: because taking them fails or hangs, or because
// they wait on the platform and do not come. It is safe for concurrent use.
type intake struct {
	in  adapters.Acceptor
	now func() time.Time

	mu      sync.Mutex
	taken   time.Time // the last event that was taken; zero for none
	count   int       // of events that were taken
	running map[int]time.Time
	next    int
	failing time.Time // when the first of the tries that failed since then began; zero while all goes well
	why     string    // what the last one of them said
	pending int       // what the platform said last
	waits   time.Time // since when events wait on the platform and none is taken; zero for never
	detail  string    // what the platform says of that
}

func newIntake(in adapters.Acceptor, now func() time.Time) *intake {
	return &intake{in: in, now: now, running: map[int]time.Time{}}
}

// Accept implements [adapters.Acceptor].
func (e *intake) Accept(ctx context.Context, in adapters.Inbound) (err error) {
	id, began := e.begin()
	ended := false
	defer func() { e.end(ctx, id, began, ended && err == nil, err) }() // a panic counts as a failure, and goes on
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
	case ctx.Err() != nil: // the stop, or a caller that has gone
	default:
		if e.failing.IsZero() {
			e.failing = began
		}
		e.why = fmt.Sprint(err)
	}
}

// restart forgets what was wrong before: this replica begins to receive for the account.
func (e *intake) restart() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failing, e.why, e.waits, e.pending = time.Time{}, "", time.Time{}, 0
}

// backlog notes how many events wait on the platform. taken is how many had been taken when the look before this one was made:
// while some go through, others may wait.
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

// deaf says why events are not taken; empty where they are.
func (e *intake) deaf() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.failing.IsZero() {
		if d := e.now().Sub(e.failing); d > deafAfter {
			return fmt.Sprintf("messages have not been accepted for %s: %s", d.Round(time.Second), e.why)
		}
	}
	for _, began := range e.running {
		if d := e.now().Sub(began); d > deafAfter {
			return fmt.Sprintf("a message has been waiting for %s to be stored", d.Round(time.Second))
		}
	}
	if d := e.now().Sub(e.waits); !e.waits.IsZero() && d > deafAfter {
		text := fmt.Sprintf("%d events are waiting on the platform, and none has arrived for %s", e.pending, d.Round(time.Second))
		if e.detail != "" {
			text += ": " + e.detail
		}
		return text
	}
	return ""
}

// heard is when the last event was taken, and how many waited on the platform when it was last asked.
func (e *intake) heard() (last time.Time, pending int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.taken, e.pending
}
