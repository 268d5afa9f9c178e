package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router"
	"sluice/sessions"
)

// Old rows go, but for what something unfinished needs; a platform's repeat is known for ever.
func testPrune(t *testing.T, b *bundle) {
	s := b.create(newSession("agent:main:main"))
	ended := func(status sessions.RunStatus) sessions.Run {
		r := newRun(s.ID)
		r.Status, r.Finished = status, at(1)
		b.commit(router.Change{
			Change: sessions.Change{Enqueue: []sessions.Run{r}},
			Event:  &router.Event{Key: r.EventKey, Outcome: router.OutcomeRun, Session: s.ID, Run: r.ID, Accepted: start},
		})
		return r
	}
	var gone []sessions.Run
	for range 450 {
		gone = append(gone, ended(sessions.RunDone))
	}
	owed, asked, waits := ended(sessions.RunDone), newRun(s.ID), ended(sessions.RunQueued)
	asked.Status, asked.Finished, asked.Exchange = sessions.RunDone, at(1), "xch_1"
	b.enqueue(asked)
	last := ended(sessions.RunDone)

	deliver := func(change func(*router.Delivery)) router.Delivery {
		d := newDelivery("c|x")
		d.Status, d.Finished = router.DeliverySent, at(1)
		change(&d)
		b.commit(router.Change{Deliver: []router.Delivery{d}})
		return d
	}
	sent := deliver(func(*router.Delivery) {})
	keyed := deliver(func(d *router.Delivery) { d.Idempotency = "again" })
	unknown := deliver(func(d *router.Delivery) { d.Status, d.Run = router.DeliveryUnknown, owed.ID })
	young := deliver(func(d *router.Delivery) { d.Finished = at(100) })

	for _, kind := range []router.PruneKind{router.PruneRuns, router.PruneDeliveries} {
		step := router.Prune{Kind: kind, Before: at(50), Events: at(50)}
		for steps := 0; ; steps++ {
			require.Less(t, steps, 10)
			done, err := b.Prune(b.ctx, step)
			require.NoError(t, err)
			require.LessOrEqual(t, done.Looked, 200, "a step is small")
			if step.After = done.Next; !done.More {
				break
			}
		}
	}
	for i, r := range gone {
		_, err := b.Run(b.ctx, r.ID)
		require.ErrorIs(t, err, sessions.ErrNotFound, fmt.Sprint(i))
		e, err := b.Event(b.ctx, r.EventKey)
		require.NoError(t, err, "its key is known for ever")
		require.Empty(t, e.Run)
		require.Equal(t, router.OutcomeRun, e.Outcome)
	}
	b.refuse(sessions.ErrDuplicate, router.Change{Event: &router.Event{Key: gone[0].EventKey, Outcome: router.OutcomeRun, Accepted: at(60)}})
	for _, r := range []sessions.Run{owed, asked, waits, last} {
		b.run(r.ID)
	}
	_, err := b.Delivery(b.ctx, sent.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	again, err := b.DeliveryByIdempotency(b.ctx, "again")
	require.NoError(t, err)
	require.Equal(t, keyed.ID, again.ID)
	require.Empty(t, again.Text)
	require.Equal(t, "answer", b.delivery(unknown.ID).Text)
	require.Equal(t, "answer", b.delivery(young.ID).Text)
}
