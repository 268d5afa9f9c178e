package adaptertest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/sessions"
)

// errFull is the error for an event that the inbox refuses.
var errFull = errors.New("the store is full")

// inbox is an Acceptor that keeps its events, as the router does: an event that it already has is a repeat.
type inbox struct {
	// decide, if set before Run, is called before an event is kept; an error refuses the event.
	decide func(ctx context.Context, in adapters.Inbound) error

	events chan adapters.Inbound // each event once, in order

	mu   sync.Mutex
	seen map[string]int // how often each event came
}

// newInbox creates an inbox with space for all events of a subtest.
func newInbox() *inbox {
	return &inbox{events: make(chan adapters.Inbound, 1000), seen: map[string]int{}}
}

// Accept implements adapters.Acceptor.
func (i *inbox) Accept(ctx context.Context, in adapters.Inbound) error {
	if i.decide != nil {
		if err := i.decide(ctx, in); err != nil {
			return err
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.seen[in.Event]++
	if i.seen[in.Event] == 1 {
		i.events <- in
	}
	return nil
}

// times returns how often an event came.
func (i *inbox) times(event string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.seen[event]
}

// next waits for the next event that is not a repeat.
func (i *inbox) next(t *testing.T) adapters.Inbound {
	t.Helper()
	return receive(t, i.events, "an event")
}

// until lets a person write a last message in a place and returns everything that came before it.
func (w *world) until(place sessions.Route, from sessions.Peer) []adapters.Inbound {
	w.t.Helper()
	const last = "that was all"
	said := w.Say(place, from, last)
	var before []adapters.Inbound
	for {
		in := w.inbox.next(w.t)
		if in.MessageID == said.ID && in.Text == last && in.Route.Conversation == place.Conversation {
			return before
		}
		before = append(before, in)
	}
}

// only returns the one event that came before a last message in the place.
func (w *world) only(place sessions.Route, from sessions.Peer) adapters.Inbound {
	w.t.Helper()
	all := w.until(place, from)
	require.Len(w.t, all, 1, "one event and no other")
	return all[0]
}

// signal wakes the waiting caller; for a repeated event nobody waits.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
