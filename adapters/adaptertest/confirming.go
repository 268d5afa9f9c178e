package adaptertest

import (
	"context"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
)

var confirming = []subtest{
	{"nothing is confirmed before it is stored", confirmAfterAccept},
	{"what was not stored is given again", refusedComesAgain},
	{"what was not stored when Run ended goes to the next", endedInBetween},
	{"unknown events are confirmed and disturb nothing", flood},
}

// onText applies a decision to messages with one text; others are accepted.
func onText(text string, decide func(ctx context.Context) error) func(context.Context, adapters.Inbound) error {
	return func(ctx context.Context, in adapters.Inbound) error {
		if in.Text != text {
			return nil
		}
		return decide(ctx)
	}
}

func confirmAfterAccept(w *world) {
	w.needs(w.limits.Confirms, "confirmations")
	asked, store := make(chan struct{}, 1), make(chan struct{})
	w.inbox.decide = onText("keep me", func(context.Context) error {
		signal(asked)
		<-store
		return nil
	})
	w.warm()
	said := w.Say(w.Direct(), w.Person(0), "keep me")
	receive(w.t, asked, "the event")
	early := w.Confirmed(said)
	close(store)
	require.False(w.t, early, "confirmed before it was stored")
	w.confirmed(said)
	require.Equal(w.t, "keep me", w.inbox.next(w.t).Text)
}

func refusedComesAgain(w *world) {
	const refusals = 2
	var confirmedEarly bool
	said, tries := make(chan Said, 1), 0
	w.inbox.decide = onText("keep me", func(context.Context) error {
		s := <-said
		said <- s
		confirmedEarly = confirmedEarly || (w.limits.Confirms && w.Confirmed(s))
		if tries++; tries <= refusals {
			return errFull
		}
		return nil
	})
	w.warm()
	s := w.Say(w.Direct(), w.Person(0), "keep me")
	said <- s
	require.Equal(w.t, "keep me", w.inbox.next(w.t).Text)
	require.Equal(w.t, refusals+1, tries)
	require.False(w.t, confirmedEarly, "confirmed before it was stored")
	w.confirmed(s)
	require.Empty(w.t, w.until(w.Direct(), w.Person(0)))
}

func endedInBetween(w *world) {
	w.needs(w.limits.Confirms, "confirmations")
	asked := make(chan struct{}, 1)
	ending := true
	w.inbox.decide = onText("keep me", func(ctx context.Context) error {
		if !ending {
			return nil
		}
		signal(asked)
		<-ctx.Done()
		return ctx.Err()
	})
	stop := w.warm()
	said := w.Say(w.Direct(), w.Person(0), "keep me")
	receive(w.t, asked, "the event")
	stop()
	require.False(w.t, w.Confirmed(said))
	ending = false
	w.runAs(w.Adapter(w.t))
	require.Equal(w.t, "keep me", w.inbox.next(w.t).Text)
	w.confirmed(said)
}

func flood(w *world) {
	w.warm()
	for _, strange := range w.Flood() {
		w.confirmed(strange)
	}
	require.Empty(w.t, w.until(w.Direct(), w.Person(0)), "nothing comes of what nobody knows")
}
