package adaptertest

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/sessions"
)

// patience is how long the suite waits. It is long because machines can be slow; passing tests do not need it.
const patience = 30 * time.Second

// Run runs the suite. start creates a platform for each subtest and ends it with the test; subtests run in parallel.
// A subtest is skipped if the platform's [Limits] or the adapter's abilities leave nothing to test. The calling
// packages check for leaked goroutines in their TestMain.
func Run(t *testing.T, start func(t *testing.T) Platform) {
	for area, tests := range map[string][]subtest{
		"arriving":    arriving,
		"confirming":  confirming,
		"order":       ordering,
		"changing":    changing,
		"sending":     sending,
		"failing":     failing,
		"settling":    settling,
		"revising":    revising,
		"files":       filing,
		"pressing":    pressing,
		"connections": connecting,
		"life":        living,
		"directory":   looking,
		"threads":     recalling,
	} {
		t.Run(area, func(t *testing.T) {
			t.Parallel()
			for _, s := range tests {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					s.test(newWorld(t, start))
				})
			}
		})
	}
}

// subtest is one promise of the port.
type subtest struct {
	name string
	test func(w *world)
}

// world is a platform, an adapter on it, and the events that the adapter has passed on.
type world struct {
	Platform
	t       *testing.T
	limits  Limits
	adapter adapters.Adapter
	inbox   *inbox
	start   func(t *testing.T) Platform
}

func newWorld(t *testing.T, start func(t *testing.T) Platform) *world {
	t.Helper()
	p := start(t)
	w := &world{Platform: p, t: t, limits: p.Limits(), inbox: newInbox(), start: start}
	w.adapter = p.Adapter(t)
	t.Cleanup(func() { require.Empty(t, p.Violations(), "requests that the platform's description forbids") })
	return w
}

// needs skips the subtest if the platform lacks a feature.
func (w *world) needs(has bool, what string) {
	w.t.Helper()
	if !has {
		w.t.Skip("the platform has no " + what)
	}
}

// able returns the adapter's optional ability T; without it, the subtest is skipped.
func able[T any](w *world) T {
	w.t.Helper()
	ability, ok := w.adapter.(T)
	if !ok {
		w.t.Skip("the adapter is no " + reflect.TypeFor[T]().Name())
	}
	return ability
}

// run runs the adapter until stop or the end of the test. Run must then return nil soon.
func (w *world) run() (stop func()) {
	w.t.Helper()
	return w.runAs(w.adapter)
}

func (w *world) runAs(a adapters.Adapter) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, w.inbox) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(w.t, receive(w.t, ended, "the end of Run"), "Run's end")
	}
	w.t.Cleanup(stop)
	return stop
}

// warm runs the adapter and returns when it certainly receives.
func (w *world) warm() (stop func()) {
	w.t.Helper()
	w.needs(w.limits.Hears, "words that come in through Run")
	stop = w.run()
	w.Say(w.Direct(), w.Person(0), "are you there?")
	w.inbox.next(w.t)
	return stop
}

// receive waits for one value.
func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		require.FailNow(t, "did not come in time", what)
		panic("not reached")
	}
}

// out returns an outgoing text with a delivery id.
func out(delivery string, to sessions.Route, text string) adapters.Outbound {
	return adapters.Outbound{DeliveryID: delivery, Route: to, Session: "sess_suite", Text: text}
}

// send posts a text, which must be accepted.
func (w *world) send(o adapters.Outbound) adapters.Receipt {
	w.t.Helper()
	receipt, err := w.adapter.Send(w.t.Context(), o)
	require.NoError(w.t, err)
	require.NotEmpty(w.t, receipt.MessageID)
	return receipt
}

// shown waits for n messages of the bot and returns them.
func (w *world) shown(place sessions.Route, n int) []Shown {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	all, err := w.WaitShown(ctx, place, n)
	require.NoError(w.t, err)
	require.Len(w.t, all, n)
	return all
}

// confirmed waits until the adapter has confirmed an event.
func (w *world) confirmed(said Said) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	require.NoError(w.t, w.WaitConfirmed(ctx, said), "confirmation of %s", said.Event)
}
