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

// errFull is why the inbox did not take an event.
var errFull = errors.New("the store is full")

// inbox is an Acceptor that keeps what it gets, as the router does: what it has already is a repeat.
type inbox struct {
	// decide, if set before Run, comes before an event is kept; an error refuses it.
	decide func(ctx context.Context, in adapters.Inbound) error

	events chan adapters.Inbound // each event once, as they came

	mu   sync.Mutex
	seen map[string]int // how often each event came
}

// newInbox holds more events than any subtest causes.
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

// times is how often an event came.
func (i *inbox) times(event string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.seen[event]
}

// next waits for the next event that is no repeat.
func (i *inbox) next(t *testing.T) adapters.Inbound {
	t.Helper()
	return receive(t, i.events, "an event")
}

// until lets somebody write a last word in a place and gives everything that came before it.
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

// only is the one event that came before a last word in the place.
func (w *world) only(place sessions.Route, from sessions.Peer) adapters.Inbound {
	w.t.Helper()
	all := w.until(place, from)
	require.Len(w.t, all, 1, "one event and no other")
	return all[0]
}

// signal tells the caller that waits, once; an event that is given again waits for nobody.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
