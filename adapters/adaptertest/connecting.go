package adaptertest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
)

var connecting = []subtest{
	{"what is said while connections break comes once", dropped},
	{"connections that went deaf are noticed", deafened},
	{"a call over a deaf connection ends, the next one works", deafCall},
}

func dropped(w *world)  { brokenConnections(w, w.DropConnections) }
func deafened(w *world) { brokenConnections(w, w.Deafen) }

// brokenConnections breaks connections several times and checks the received messages and State.
func brokenConnections(w *world, broken func()) {
	w.needs(w.limits.Fails && !w.limits.Posts, "connection that events come over")
	w.warm()
	stater := able[adapters.Stater](w)
	for _, text := range []string{"one", "two"} {
		said := w.Say(w.Direct(), w.Person(0), "before it breaks")
		w.inbox.next(w.t)
		w.confirmed(said) // so that a poller now waits for more
		before := stater.State()
		require.Equal(w.t, adapters.Connected, before.Status)
		broken()
		said = w.Say(w.Direct(), w.Person(0), text)
		in := w.only(w.Direct(), w.Person(0))
		requireFrom(w, in, said, w.Person(0))
		require.Equal(w.t, text, in.Text)
		after := stater.State()
		require.Equal(w.t, adapters.Connected, after.Status)
		require.True(w.t, after.Since.After(before.Since), "that it was away for a moment shows")
		require.False(w.t, after.LastEvent.Before(before.LastEvent))
	}
}

func deafCall(w *world) {
	w.needs(w.limits.Fails, "network in between")
	w.send(out("dlv_1", w.Direct(), "one"))
	w.Deafen()
	ctx, cancel := context.WithTimeout(w.t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := w.adapter.Send(ctx, out("dlv_2", w.Direct(), "two"))
	require.Error(w.t, err)
	require.False(w.t, adapters.AsFailure(err).Certain)
	w.send(out("dlv_3", w.Direct(), "three"))
	require.Equal(w.t, "three", w.shown(w.Direct(), 2)[1].Plain)
}
