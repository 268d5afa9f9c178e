package storetest

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func testRunRoundTrip(t *testing.T, b *bundle) {
	r := newRun(sessions.NewID())
	r.Input.History = []sessions.HistoryLine{{Sender: sessions.Peer{ID: "6"}, Text: "before", At: start, Label: secret}}
	r.Input.Attachments = []sessions.Attachment{{Kind: "photo", Ref: "x"}}
	r.Leader, r.Attempts, r.Reply, r.Error, r.Model = "run_l", 2, "reply", "error", "p/m"
	r.Usage, r.Started, r.Finished = sessions.Usage{InputTokens: 1, OutputTokens: 2, CachedTokens: 3}, at(1), at(2)
	b.enqueue(r)
	got := b.run(r.ID)
	require.Positive(t, got.Seq)
	r.Seq = got.Seq
	require.Equal(t, r, got)
	b.refuse(sessions.ErrDuplicate, ledger.Change{Change: sessions.Change{Enqueue: []sessions.Run{r}}})
	_, err := b.Run(b.ctx, "run_none")
	require.ErrorIs(t, err, sessions.ErrNotFound)

	nowhere := newRun(sessions.NewID())
	nowhere.Route, nowhere.Input.Text = sessions.Route{}, ""
	b.enqueue(nowhere)
	nowhere.Seq = b.run(nowhere.ID).Seq
	require.Equal(t, nowhere, b.run(nowhere.ID))
}

// testStartedRun stores runs that their owner has started. Nothing waits before them, and their session has not ended.
func testStartedRun(t *testing.T, b *bundle) {
	epoch := b.take(3, "a")
	started := func(session sessions.ID, epoch int64) sessions.Run {
		r := newRun(session)
		r.Status, r.Epoch, r.Started, r.Attempts = sessions.RunRunning, epoch, at(1), 1
		return r
	}
	store := func(r sessions.Run) ledger.Change {
		return ledger.Change{Change: sessions.Change{Enqueue: []sessions.Run{r}}}
	}
	first := started(sessions.NewID(), epoch)
	b.commit(store(first))
	first.Seq = b.run(first.ID).Seq
	require.Equal(t, first, b.run(first.ID))
	b.refuse(sessions.ErrConflict, store(started(first.Session, epoch)))
	b.enqueue(newRun(first.Session))

	done := first
	done.Status = sessions.RunDone
	b.commit(moveRun(sessions.RunRunning, done))
	b.refuse(sessions.ErrConflict, store(started(first.Session, epoch)))
	b.refuse(sessions.ErrDuplicate, store(func() sessions.Run { r := started(sessions.NewID(), epoch); r.ID = first.ID; return r }()))

	ended := b.create(newSession("agent:main:ended"))
	b.commit(ledger.Change{Change: sessions.Change{End: []sessions.End{{ID: ended.ID, At: at(1)}}}})
	b.refuse(sessions.ErrConflict, store(started(ended.ID, epoch)))

	other := sessions.NewID()
	require.Greater(t, b.take(3, "b"), epoch)
	b.refuse(sessions.ErrFenced, store(started(other, epoch)))
	waiting, err := b.WaitingRuns(b.ctx, other, 9)
	require.NoError(t, err)
	require.Empty(t, waiting)
}

func testWaitingRuns(t *testing.T, b *bundle) {
	id := sessions.NewID()
	var want []sessions.RunID
	for i := range 6 {
		r := newRun(id)
		b.enqueue(r, newRun(sessions.NewID()))
		if i == 1 {
			r.Status = sessions.RunDone
			b.commit(moveRun(sessions.RunQueued, r))
			continue
		}
		want = append(want, r.ID)
	}
	for limit, n := range map[int]int{10: 5, 3: 3} {
		waiting, err := b.WaitingRuns(b.ctx, id, limit)
		require.NoError(t, err)
		var got []sessions.RunID
		for _, r := range waiting {
			got = append(got, r.ID)
		}
		require.Equal(t, want[:n], got)
	}
	busy, err := b.Busy(b.ctx, []sessions.ID{id, "sess_idle"})
	require.NoError(t, err)
	require.True(t, busy[id])
	require.False(t, busy["sess_idle"])
}

func testRunMove(t *testing.T, b *bundle) {
	epoch := b.take(3, "a")
	r := newRun(sessions.NewID())
	b.enqueue(r)
	moved := r
	moved.Status, moved.Leader, moved.Epoch, moved.Attempts = sessions.RunRunning, "run_l", epoch, 1
	moved.Reply, moved.Error, moved.Model, moved.Usage = "reply", "error", "p/m", sessions.Usage{InputTokens: 7}
	moved.Label, moved.Started, moved.Finished = flow.Bottom(), at(1), at(2)
	moved.Calls = []sessions.ClientCall{{ID: "call_1", Name: "weather", Args: json.RawMessage(`{"city":"Zürich"}`)}}
	want := moved
	moved.Input.Text, moved.EventKey, moved.Session = "other", "other", "sess_other"
	b.commit(moveRun(sessions.RunQueued, moved))
	want.Seq = b.run(r.ID).Seq
	require.Equal(t, want, b.run(r.ID))

	b.refuse(sessions.ErrConflict, moveRun(sessions.RunQueued, moved))
	moved.ID = "run_none"
	b.refuse(sessions.ErrConflict, moveRun(sessions.RunRunning, moved))
	want.Status, want.Epoch = sessions.RunDone, 0
	b.commit(moveRun(sessions.RunRunning, want)) // without a fence
}

func testRunBatch(t *testing.T, b *bundle) {
	session := sessions.NewID()
	var runs []sessions.Run
	for range 4 {
		r := newRun(session)
		b.enqueue(r)
		runs = append(runs, r)
	}
	for i := range runs[:3] {
		runs[i].Status = sessions.RunRunning
		if i > 0 {
			runs[i].Leader = runs[0].ID
		}
		b.commit(moveRun(sessions.RunQueued, runs[i]))
	}
	ids := func(id sessions.RunID) (found []sessions.RunID) {
		batch, err := b.Batch(b.ctx, id)
		require.NoError(t, err)
		for _, r := range batch {
			found = append(found, r.ID)
		}
		return found
	}
	for _, r := range runs[:3] {
		require.ElementsMatch(t, []sessions.RunID{runs[0].ID, runs[1].ID, runs[2].ID}, ids(r.ID), "whichever of them is asked about")
	}
	require.Equal(t, []sessions.RunID{runs[3].ID}, ids(runs[3].ID))
	require.Empty(t, ids("run_none"))
	require.Empty(t, ids(""))
}

func testRunFence(t *testing.T, b *bundle) {
	old := b.take(3, "a")
	r := newRun(sessions.NewID())
	b.enqueue(r)
	fresh := b.take(3, "b")
	move := r
	move.Status, move.Epoch = sessions.RunRunning, old
	b.refuse(sessions.ErrFenced, moveRun(sessions.RunQueued, move))
	move.Epoch = fresh + 1
	b.refuse(sessions.ErrFenced, moveRun(sessions.RunQueued, move))
	move.Epoch, move.Partition = fresh, 4
	b.refuse(sessions.ErrFenced, moveRun(sessions.RunQueued, move))
	require.Equal(t, sessions.RunQueued, b.run(r.ID).Status)
	move.Partition = 3
	b.commit(moveRun(sessions.RunQueued, move))
	b.refuse(sessions.ErrConflict, moveRun(sessions.RunQueued, move))

	d := newDelivery("c|x")
	b.commit(ledger.Change{Deliver: []ledger.Delivery{d}})
	d.Status, d.Epoch = ledger.DeliverySending, old
	b.refuse(sessions.ErrFenced, moveDelivery(ledger.DeliveryQueued, d))
	d.Epoch = fresh
	b.commit(moveDelivery(ledger.DeliveryQueued, d))
}

func testAbort(t *testing.T, b *bundle) {
	id := sessions.NewID()
	running, queued, other := newRun(id), newRun(id), newRun(sessions.NewID())
	b.enqueue(running, queued, other)
	running.Status = sessions.RunRunning
	b.commit(moveRun(sessions.RunQueued, running))
	b.commit(ledger.Change{Change: sessions.Change{Abort: []sessions.Abort{{Session: id, At: at(1)}}}})

	require.Equal(t, sessions.RunAborted, b.run(queued.ID).Status)
	require.Equal(t, at(1), b.run(queued.ID).Finished)
	require.Equal(t, sessions.RunRunning, b.run(running.ID).Status)
	require.Equal(t, sessions.RunQueued, b.run(other.ID).Status)
	for run, want := range map[sessions.RunID]sessions.AbortCause{running.ID: sessions.AbortStopped, queued.ID: sessions.AbortNone, other.ID: sessions.AbortNone} {
		asked, err := b.AbortRequested(b.ctx, run)
		require.NoError(t, err)
		require.Equal(t, want, asked)
	}
	asked, err := b.AbortsRequested(b.ctx, running.Partition)
	require.NoError(t, err)
	require.Equal(t, []sessions.ID{id}, asked)
	asked, err = b.AbortsRequested(b.ctx, running.Partition+1)
	require.NoError(t, err)
	require.Empty(t, asked)
}

// A stop does not end a queued run that an exchange waits for: it requests the end, so that the worker ends both
// together.
func testAbortOfStep(t *testing.T, b *bundle) {
	id := sessions.NewID()
	step := newRun(id)
	x := newExchange("sess_1", id)
	x.Run, step.Exchange = step.ID, x.ID
	b.commit(ledger.Change{Change: sessions.Change{Enqueue: []sessions.Run{step}}, Exchanges: []ledger.Exchange{x}})
	abort := sessions.Change{Abort: []sessions.Abort{{Session: id, At: at(1)}}}
	b.commit(ledger.Change{Change: abort})
	require.Equal(t, sessions.RunQueued, b.run(step.ID).Status)
	asked, err := b.AbortRequested(b.ctx, step.ID)
	require.NoError(t, err)
	require.Equal(t, sessions.AbortStopped, asked)
	x.Revision, x.Exchange = 2, announce.Stop(x.Exchange, "a person stopped it", at(2))
	b.commit(ledger.Change{Change: abort, Exchanges: []ledger.Exchange{x}})
	require.Equal(t, sessions.RunAborted, b.run(step.ID).Status)
}

// A stop skips notes: nobody works on them, and the session gets their text from nowhere else.
func testAbortOfNote(t *testing.T, b *bundle) {
	note := newRun(sessions.NewID())
	note.Kind = sessions.KindNote
	b.enqueue(note)
	b.commit(ledger.Change{Change: sessions.Change{Abort: []sessions.Abort{{Session: note.Session, At: at(1)}}}})
	require.Equal(t, sessions.RunQueued, b.run(note.ID).Status)
}

// A newer message asks a running run to end. It does not overrule a stop and does not end waiting runs.
func testInterrupt(t *testing.T, b *bundle) {
	id := sessions.NewID()
	running, queued, stopped := newRun(id), newRun(id), newRun(sessions.NewID())
	b.enqueue(running, queued, stopped)
	for _, run := range []*sessions.Run{&running, &stopped} {
		run.Status = sessions.RunRunning
		b.commit(moveRun(sessions.RunQueued, *run))
	}
	b.commit(ledger.Change{Change: sessions.Change{Abort: []sessions.Abort{{Session: stopped.Session, At: at(1)}}}})
	var change ledger.Change
	for _, run := range []sessions.Run{running, queued, stopped} {
		change.Interrupt = append(change.Interrupt, sessions.Interrupt{Session: run.Session, Run: run.ID})
	}
	b.commit(change)
	require.Equal(t, sessions.RunQueued, b.run(queued.ID).Status)
	for run, want := range map[sessions.RunID]sessions.AbortCause{
		running.ID: sessions.AbortReplaced, queued.ID: sessions.AbortNone, stopped.ID: sessions.AbortStopped,
	} {
		asked, err := b.AbortRequested(b.ctx, run)
		require.NoError(t, err)
		require.Equal(t, want, asked)
	}
	asked, err := b.AbortsRequested(b.ctx, running.Partition)
	require.NoError(t, err)
	require.Contains(t, asked, id)
}

// Only messages of people count, and the newest wins.
func testLastHeard(t *testing.T, b *bundle) {
	id := sessions.NewID()
	_, err := b.LastHeard(b.ctx, id)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	first, second, note := newRun(id), newRun(id), newRun(id)
	first.Accepted, second.Accepted, note.Accepted, note.Kind = at(1), at(2), at(3), sessions.KindNote
	b.enqueue(first, second, note)
	heard, err := b.LastHeard(b.ctx, id)
	require.NoError(t, err)
	require.Equal(t, at(2), heard)
}

func testAtomic(t *testing.T, b *bundle) {
	taken := b.create(newSession("agent:main:main"))
	r, d, fresh := newRun(taken.ID), newDelivery("c|x"), newSession("agent:main:fresh")
	conflict := newRun(taken.ID)
	b.refuse(sessions.ErrConflict, ledger.Change{
		Change: sessions.Change{
			Create: []sessions.Record{fresh}, Enqueue: []sessions.Run{r},
			Messages: []sessions.StoredMessage{{Session: taken.ID, Message: newMessage("", "x")}},
			Runs:     []sessions.RunMove{{From: sessions.RunRunning, Run: conflict}},
		},
		Event: &ledger.Event{Key: "k"}, Deliver: []ledger.Delivery{d},
	})
	_, err := b.Session(b.ctx, fresh.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	_, err = b.Run(b.ctx, r.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	_, err = b.Delivery(b.ctx, d.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	_, err = b.Event(b.ctx, "k")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

// testGroup commits many changes at once; a third of them is invalid and must not harm the rest.
func testGroup(t *testing.T, b *bundle) {
	const writers = 90
	b.commit(ledger.Change{Event: &ledger.Event{Key: "known"}})
	runs := make([]sessions.Run, writers)
	errs := make(chan error, writers)
	for i := range writers {
		runs[i] = newRun(sessions.NewID())
		change := ledger.Change{Change: sessions.Change{Enqueue: runs[i : i+1]}, Event: &ledger.Event{Key: string(runs[i].ID)}}
		if i%3 == 0 {
			change.Event.Key = "known"
		}
		go func() { errs <- b.Commit(b.ctx, change) }()
	}
	refused := 0
	for range writers {
		if err := <-errs; err != nil {
			require.ErrorIs(t, err, sessions.ErrDuplicate)
			refused++
		}
	}
	require.Equal(t, writers/3, refused)
	for i, r := range runs {
		_, err := b.Run(b.ctx, r.ID)
		require.Equal(t, i%3 == 0, errors.Is(err, sessions.ErrNotFound))
	}
}

func testEvent(t *testing.T, b *bundle) {
	e := ledger.Event{Key: "telegram/default/1", Outcome: ledger.OutcomeRun, Session: "sess_1", Run: "run_1", Notice: "dlv_1", Accepted: start}
	b.commit(ledger.Change{Event: &e})
	b.refuse(sessions.ErrDuplicate, ledger.Change{Event: &e})
	got, err := b.Event(b.ctx, e.Key)
	require.NoError(t, err)
	require.Equal(t, e, got)
	_, err = b.Event(b.ctx, "telegram/default/2")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}
