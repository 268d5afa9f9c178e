package adaptertest

import (
	"context"
	"strconv"
	"sync"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/sessions"
)

var ordering = []subtest{
	{"a conversation keeps its order", inOrder},
	{"events that come in another order are all taken once", reordered},
	{"a slow conversation holds up no other", parallel},
}

func inOrder(w *world) {
	const each = 20
	w.warm()
	places := []sessions.Route{w.Direct()}
	if !w.Group().IsZero() {
		places = append(places, w.Group())
	}
	for i := range each {
		for _, place := range places {
			w.Say(place, w.Person(0), strconv.Itoa(i))
		}
	}
	next := map[sessions.ConversationID]int{}
	for range each * len(places) {
		in := w.inbox.next(w.t)
		at := in.Route.Conversation
		require.Equal(w.t, strconv.Itoa(next[at]), in.Text, "in %s", at)
		next[at]++
	}
}

// reordered refuses one of the events at its first attempt: none may be confirmed together with another.
func reordered(w *world) {
	reorderer, ok := w.Platform.(Reorderer)
	w.needs(ok, "events in another order")
	refused := false
	w.inbox.decide = onText("two", func(context.Context) error {
		if refused {
			return nil
		}
		refused = true
		return errFull
	})
	w.warm()
	all := reorderer.SayReordered(w.Direct(), w.Person(0), "one", "two", "three")
	got := map[sessions.PlatformMessageID]string{}
	for range all {
		in := w.inbox.next(w.t)
		got[in.MessageID] = in.Text
	}
	require.Equal(w.t, map[sessions.PlatformMessageID]string{all[0].ID: "one", all[1].ID: "two", all[2].ID: "three"}, got)
	for _, said := range all {
		w.confirmed(said)
	}
	require.Empty(w.t, w.until(w.Direct(), w.Person(0)))
}

// parallel blocks the group until both places have an event, and then makes the group wait for the other place:
// platforms that deliver batches must not wait for the slowest conversation either.
func parallel(w *world) {
	w.needs(!w.Group().IsZero(), "two conversations")
	asked, release, other := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	came := sync.OnceFunc(func() { close(other) }) // an event may be repeated
	w.inbox.decide = func(ctx context.Context, in adapters.Inbound) error {
		switch in.Text {
		case "hold":
			signal(asked)
			return wait(ctx, release)
		case "slow":
			return wait(ctx, other)
		case "quick":
			came()
		}
		return nil
	}
	w.warm()
	w.Say(w.Group(), w.Person(1), "hold")
	receive(w.t, asked, "the first event")
	w.Say(w.Group(), w.Person(1), "slow")
	w.Say(w.Direct(), w.Person(0), "quick")
	close(release)
	receive(w.t, other, "the other conversation's event, while the slow one waits")
	got := map[string]bool{}
	for range 3 {
		got[w.inbox.next(w.t).Text] = true
	}
	require.Equal(w.t, map[string]bool{"hold": true, "slow": true, "quick": true}, got)
}

// wait ends with the context or the channel.
func wait(ctx context.Context, on <-chan struct{}) error {
	select {
	case <-on:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
