package storetest

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

// prune removes all old rows of a kind, in small steps.
func (b *bundle) prune(kind ledger.PruneKind, before time.Time, want int) {
	b.t.Helper()
	removed := 0
	step := ledger.Prune{Kind: kind, Before: before}
	for steps := 0; ; steps++ {
		require.Less(b.t, steps, 10)
		done, err := b.Prune(b.ctx, step)
		require.NoError(b.t, err)
		require.LessOrEqual(b.t, done.Removed, 700, "a step is small")
		removed += done.Removed
		if step.After = done.Next; !done.More {
			break
		}
	}
	require.Equal(b.t, want, removed, "removed of %s", kind)
}

// Old rows are removed unless something unfinished needs them. A platform's repeat is recognised forever.
func testPrune(t *testing.T, b *bundle) {
	s := b.create(newSession("agent:main:main"))
	ended := func(status sessions.RunStatus) sessions.Run {
		r := newRun(s.ID)
		r.Status, r.Finished = status, at(1)
		b.commit(ledger.Change{
			Change: sessions.Change{Enqueue: []sessions.Run{r}},
			Event:  &ledger.Event{Key: r.EventKey, Outcome: ledger.OutcomeRun, Session: s.ID, Run: r.ID, Accepted: start},
		})
		return r
	}
	var gone []sessions.Run
	for range 450 {
		gone = append(gone, ended(sessions.RunDone))
	}
	owed, asked, waits := ended(sessions.RunDone), newRun(s.ID), ended(sessions.RunQueued)
	asked.Status, asked.Finished, asked.Exchange = sessions.RunDone, at(1), "xch_1"
	asks := newExchange(s.ID, s.ID)
	asks.ID = asked.Exchange
	b.commit(ledger.Change{Exchanges: []ledger.Exchange{asks}, Change: sessions.Change{Enqueue: []sessions.Run{asked}}})
	last := ended(sessions.RunDone)

	deliver := func(change func(*ledger.Delivery)) ledger.Delivery {
		d := newDelivery("c|x")
		d.Status, d.Finished = ledger.DeliverySent, at(1)
		change(&d)
		b.commit(ledger.Change{Deliver: []ledger.Delivery{d}})
		return d
	}
	sent := deliver(func(*ledger.Delivery) {})
	keyed := deliver(func(d *ledger.Delivery) { d.Idempotency = "again" })
	unknown := deliver(func(d *ledger.Delivery) { d.Status, d.Run = ledger.DeliveryUnknown, owed.ID })
	young := deliver(func(d *ledger.Delivery) { d.Finished = at(100) })

	b.prune(ledger.PruneRuns, at(50), 450)
	b.prune(ledger.PruneDeliveries, at(50), 2)
	b.prune(ledger.PruneRuns, at(50), 0)
	b.prune(ledger.PruneDeliveries, at(50), 0) // rows that are already empty do not count again
	for i, r := range gone {
		_, err := b.Run(b.ctx, r.ID)
		require.ErrorIs(t, err, sessions.ErrNotFound, strconv.Itoa(i))
		e, err := b.Event(b.ctx, r.EventKey)
		require.NoError(t, err, "its key is known for ever")
		require.Empty(t, e.Run)
		require.Equal(t, ledger.OutcomeRun, e.Outcome)
	}
	b.refuse(sessions.ErrDuplicate, ledger.Change{Event: &ledger.Event{Key: gone[0].EventKey, Outcome: ledger.OutcomeRun, Accepted: at(60)}})
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

// An event without a run loses everything but its key.
func testPruneEvents(t *testing.T, b *bundle) {
	event := func(key string, accepted time.Time) ledger.Event {
		e := ledger.Event{Key: key, Outcome: ledger.OutcomeCommand, Session: "sess_1", Notice: "dlv_1", Accepted: accepted}
		b.commit(ledger.Change{Event: &e})
		return e
	}
	for i := range 250 {
		event(fmt.Sprint("c/a/old", i), at(1))
	}
	young := event("c/a/young", at(100))
	b.prune(ledger.PruneEvents, at(50), 250)
	b.prune(ledger.PruneEvents, at(50), 0)
	for i := range 250 {
		e, err := b.Event(b.ctx, fmt.Sprint("c/a/old", i))
		require.NoError(t, err)
		require.Equal(t, ledger.Event{Key: e.Key, Outcome: ledger.OutcomeCommand, Accepted: at(1)}, e)
		b.refuse(sessions.ErrDuplicate, ledger.Change{Event: &ledger.Event{Key: e.Key, Outcome: ledger.OutcomeCommand, Accepted: at(60)}})
	}
	e, err := b.Event(b.ctx, young.Key)
	require.NoError(t, err)
	require.Equal(t, young, e)
}
