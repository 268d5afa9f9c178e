package adaptertest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
)

var living = []subtest{
	{"Run ends when it is told, and begins again", stops},
	{"Run ends while an event is being stored", stopsStoring},
	{"the state tells who it is and how it does", state},
	{"a probe says who it is", probe},
	{"two adapters share nothing", two},
}

func stops(w *world) {
	for range 2 {
		stop := w.run()
		if w.limits.Hears {
			said := w.Say(w.Direct(), w.Person(0), "hello")
			w.inbox.next(w.t)
			w.confirmed(said)
		}
		stop() // checks that Run returns nil in time
	}
	w.send(out("dlv_1", w.Direct(), "sending needs no Run"))
}

func stopsStoring(w *world) {
	asked := make(chan struct{}, 1)
	w.inbox.decide = onText("slow", func(ctx context.Context) error {
		signal(asked)
		<-ctx.Done()
		return ctx.Err()
	})
	stop := w.warm()
	w.Say(w.Direct(), w.Person(0), "slow")
	receive(w.t, asked, "the event")
	stop()
}

func state(w *world) {
	stater := able[adapters.Stater](w)
	stop := w.warm()
	// A posted message may be accepted before Run knows the bot's profile.
	require.Eventually(w.t, func() bool { return stater.State().Status == adapters.Connected }, patience, time.Millisecond)
	s := stater.State()
	require.Equal(w.t, w.adapter.Channel(), s.Channel)
	require.Equal(w.t, w.adapter.Account(), s.Account)
	require.NotEmpty(w.t, s.Self.ID)
	require.False(w.t, s.Since.IsZero())
	require.False(w.t, s.LastEvent.IsZero())
	require.False(w.t, s.LastHeard.IsZero(), "the platform's last sign of life")
	stop()
	require.Equal(w.t, adapters.Stopped, stater.State().Status)
}

func probe(w *world) {
	prober := able[adapters.Prober](w)
	w.warm()
	self, err := prober.Probe(w.t.Context())
	require.NoError(w.t, err)
	require.NotEmpty(w.t, self.ID)
	require.NotEmpty(w.t, self.Name)
	require.Empty(w.t, w.until(w.Direct(), w.Person(0)), "it goes on hearing")
}

func two(w *world) {
	other := newWorld(w.t, w.start)
	w.warm()
	stopOther := other.warm()
	stopOther()
	if w.limits.Fails {
		other.Revoke()
		err := other.adapter.Run(w.t.Context(), other.inbox)
		require.Equal(w.t, adapters.Auth, adapters.AsFailure(err).Kind)
	}
	w.Say(w.Direct(), w.Person(0), "to the first")
	require.Equal(w.t, "to the first", w.only(w.Direct(), w.Person(0)).Text)
	w.send(out("dlv_1", w.Direct(), "from the first"))
	require.Len(w.t, w.Shown(w.Direct()), 1)
	require.Empty(w.t, other.Shown(other.Direct()))
	require.Empty(w.t, other.inbox.events)
}
