package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func testDeliveryRoundTrip(t *testing.T, b *bundle) {
	d := newDelivery("c|telegram|default|-100|7")
	d.Session, d.Run, d.Idempotency, d.ResendOf = "sess_1", "run_1", "once", "dlv_0"
	d.Epoch, d.Attempts, d.Parts, d.PreviewID, d.LastError = 4, 2, []string{"a", "b"}, "77", "it failed"
	d.Receipts = []adapters.Receipt{{MessageID: "9", At: start, Moved: &adapters.Migration{From: "a", To: "b"}}}
	d.Decision = &policy.Decision{Action: policy.Allow, Reason: "because", Rules: []policy.CheckResult{{Rule: "flow", Matched: true}}}
	d.Finished, d.SentAt, d.LostPreview = at(1), at(1), "the beginn"
	d.Buttons, d.Files = []adapters.Button{{Label: "Yes", Value: "/yes"}}, []sessions.MediaID{"med_1", "med_2"}
	d.Controls = []ledger.Control{{Label: "Allow", Command: "approve", Args: "apr_1 allow"}}
	d.Asks, d.Revises = "apr_1", "dlv_0"
	b.commit(ledger.Change{Deliver: []ledger.Delivery{d}})
	got := b.delivery(d.ID)
	require.Positive(t, got.Seq)
	d.Seq = got.Seq
	require.Equal(t, d, got)
	got, err := b.DeliveryByIdempotency(b.ctx, "once")
	require.NoError(t, err)
	require.Equal(t, d, got)

	plain := newDelivery("c|x")
	b.commit(ledger.Change{Deliver: []ledger.Delivery{plain}})
	plain.Seq = b.delivery(plain.ID).Seq
	require.Equal(t, plain, b.delivery(plain.ID))
	_, err = b.DeliveryByIdempotency(b.ctx, "")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	_, err = b.Delivery(b.ctx, "dlv_none")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

func testDeliveryDuplicate(t *testing.T, b *bundle) {
	d, again := newDelivery("c|x"), newDelivery("c|x")
	d.Idempotency, again.Idempotency = "once", "once"
	b.commit(ledger.Change{Deliver: []ledger.Delivery{d}})
	b.refuse(sessions.ErrDuplicate, ledger.Change{Deliver: []ledger.Delivery{again}})
	again.ID, again.Idempotency = d.ID, ""
	b.refuse(sessions.ErrDuplicate, ledger.Change{Deliver: []ledger.Delivery{again}})
	b.commit(ledger.Change{Deliver: []ledger.Delivery{newDelivery("c|x"), newDelivery("c|x")}}) // empty keys do not collide
}

// testDeliveryStale: a writer that read a delivery before an attempt must not write the old state back.
func testDeliveryStale(t *testing.T, b *bundle) {
	d := newDelivery("c|x")
	b.commit(ledger.Change{Deliver: []ledger.Delivery{d}})
	stale := d
	d.Status = ledger.DeliverySending
	b.commit(moveDelivery(ledger.DeliveryQueued, d))
	d.Status, d.Attempts, d.Receipts = ledger.DeliveryQueued, 1, []adapters.Receipt{{MessageID: "1", At: at(1)}}
	b.commit(moveDelivery(ledger.DeliverySending, d))
	b.refuse(sessions.ErrConflict, moveDelivery(ledger.DeliveryQueued, stale))
	require.Len(t, b.delivery(d.ID).Receipts, 1)
}

func testDeliveryMove(t *testing.T, b *bundle) {
	epoch := b.take(3, "a")
	d := newDelivery("c|x")
	d.Status, d.Run = ledger.DeliveryPreview, "run_1"
	b.commit(ledger.Change{Deliver: []ledger.Delivery{d}})
	got, err := b.RunDelivery(b.ctx, "run_1")
	require.NoError(t, err)
	require.Equal(t, d.ID, got.ID)

	moved := got
	moved.Status, moved.Text, moved.Label, moved.Epoch, moved.Attempts = ledger.DeliverySending, "final", flow.Bottom(), epoch, 1
	moved.NextTry, moved.Expires, moved.Finished = at(1), at(2), at(3)
	moved.SentAt, moved.LostPreview = at(4), "lost"
	moved.Parts, moved.PreviewID, moved.LastError = []string{"x", "y"}, "5", "oops"
	moved.Receipts = []adapters.Receipt{{MessageID: "1", At: at(1)}}
	moved.Decision = &policy.Decision{Action: policy.Block}
	moved.Lane, moved.Route.Conversation = "c|moved", "-200"
	want := moved
	moved.Idempotency, moved.Session = "other", "sess_other"
	b.commit(moveDelivery(ledger.DeliveryPreview, moved))
	require.Equal(t, want, b.delivery(d.ID))
	_, err = b.RunDelivery(b.ctx, "run_1")
	require.ErrorIs(t, err, sessions.ErrNotFound)

	b.refuse(sessions.ErrConflict, moveDelivery(ledger.DeliveryPreview, moved))

	late := moveDelivery(ledger.DeliverySending, want) // by the last owner, of what the next one has not written yet
	next := b.take(3, "b")
	b.refuse(sessions.ErrFenced, late)
	late.Deliveries[0].Late = true
	b.commit(late)
	want.Epoch = next
	b.commit(moveDelivery(ledger.DeliverySending, want))
	b.refuse(sessions.ErrConflict, late)

	want.Status, want.Epoch = ledger.DeliveryDiscarded, 0
	b.commit(moveDelivery(ledger.DeliverySending, want)) // without a fence
}

// testWithheldAnswer finds the answer of a run while it is withheld, and after it was held and then allowed.
func testWithheldAnswer(t *testing.T, b *bundle) {
	found := func() ledger.DeliveryID {
		d, err := b.WithheldAnswer(b.ctx, "sess_1", "run_1")
		if err != nil {
			require.ErrorIs(t, err, sessions.ErrNotFound)
		}
		return d.ID
	}
	answer, notice, line := newDelivery("c|x"), newDelivery("c|x"), newDelivery("c|x")
	for _, d := range []*ledger.Delivery{&answer, &notice, &line} {
		d.Session, d.Run, d.Kind, d.Idempotency = "sess_1", "run_1", ledger.KindReply, ""
	}
	notice.Kind, notice.Status = ledger.KindNotice, ledger.DeliveryBlocked
	line.Idempotency, line.Status = "tool/run_1/1", ledger.DeliveryBlocked
	b.commit(ledger.Change{Deliver: []ledger.Delivery{answer, notice, line}})
	require.Empty(t, found(), "it is on its way")
	for _, status := range []ledger.DeliveryStatus{ledger.DeliveryBlocked, ledger.DeliveryExpired, ledger.DeliveryHeld} {
		from := b.delivery(answer.ID).Status
		answer.Status = status
		b.commit(moveDelivery(from, answer))
		require.Equal(t, answer.ID, found(), status)
	}
	answer.Status = ledger.DeliverySent
	b.commit(moveDelivery(ledger.DeliveryHeld, answer))
	require.Empty(t, found(), "nobody was asked about it")
	p := newApproval("apr_1", "sess_1", "", 0)
	p.Delivery = answer.ID
	b.commit(ledger.Change{Ask: []ledger.Approval{p}})
	require.Equal(t, answer.ID, found(), "somebody was asked about it")
}

func testHeld(t *testing.T, b *bundle) {
	var want []ledger.DeliveryID
	for i, status := range []ledger.DeliveryStatus{ledger.DeliveryHeld, ledger.DeliveryHeld, ledger.DeliveryHeld, ledger.DeliveryQueued} {
		d := newDelivery("c|held")
		d.Status, d.NextTry = status, at(i)
		b.commit(ledger.Change{Deliver: []ledger.Delivery{d}})
		want = append(want, d.ID)
	}
	due := func(limit int) (ids []ledger.DeliveryID) {
		found, err := b.HeldDeliveries(b.ctx, at(1), limit)
		require.NoError(t, err)
		for _, d := range found {
			ids = append(ids, d.ID)
		}
		return ids
	}
	require.Equal(t, want[:2], due(10))
	require.Equal(t, want[:1], due(1))
	waiting, err := b.LaneDeliveries(b.ctx, "c|held", 10)
	require.NoError(t, err)
	require.Len(t, waiting, 1, "they hold nobody up")
}

func testLane(t *testing.T, b *bundle) {
	var want []ledger.DeliveryID
	for i := range 5 {
		d, other := newDelivery("c|x"), newDelivery("c|y")
		b.commit(ledger.Change{Deliver: []ledger.Delivery{d, other}})
		if i == 2 {
			d.Status = ledger.DeliverySent
			b.commit(moveDelivery(ledger.DeliveryQueued, d))
			continue
		}
		if i == 0 {
			d.Status = ledger.DeliverySending
			b.commit(moveDelivery(ledger.DeliveryQueued, d))
		}
		want = append(want, d.ID)
	}
	for limit, n := range map[int]int{9: 4, 2: 2} {
		rows, err := b.LaneDeliveries(b.ctx, "c|x", limit)
		require.NoError(t, err)
		var got []ledger.DeliveryID
		for _, d := range rows {
			got = append(got, d.ID)
		}
		require.Equal(t, want[:n], got)
	}
}

func testWaitingLanes(t *testing.T, b *bundle) {
	queued, running, done, elsewhere := newRun("sess_q"), newRun("sess_r"), newRun("sess_d"), newRun("sess_e")
	elsewhere.Partition = 4
	b.enqueue(queued, newRun("sess_q"), running, done, elsewhere)
	running.Status, done.Status = sessions.RunRunning, sessions.RunDone
	b.commit(moveRun(sessions.RunQueued, running))
	b.commit(moveRun(sessions.RunQueued, done))
	open, sent := newDelivery("c|open"), newDelivery("c|sent")
	sent.Status = ledger.DeliverySent
	b.commit(ledger.Change{Deliver: []ledger.Delivery{open, sent, newDelivery("c|open")}})

	lanes, err := b.WaitingLanes(b.ctx, 3)
	require.NoError(t, err)
	require.ElementsMatch(t, []sessions.Lane{"sess_q", "sess_r", "c|open"}, lanes)
}

func testForeignText(t *testing.T, b *bundle) {
	d := newDelivery("c|x")
	d.Text, d.LastError, d.Idempotency = "nul \x00 and \xff broken", "e\x00", "key\x00"
	b.commit(ledger.Change{Deliver: []ledger.Delivery{d}})
	require.Equal(t, "nul \uFFFD and \uFFFD broken", b.delivery(d.ID).Text)
	got, err := b.DeliveryByIdempotency(b.ctx, "key\x00")
	require.NoError(t, err)
	require.Equal(t, d.ID, got.ID)

	r := newRun("sess_1")
	r.Input.Text = "nul \x00"
	b.enqueue(r)
	require.Equal(t, "nul \x00", b.run(r.ID).Input.Text)
}

// testDeliveryBegins: a commit may create a delivery as sending only if it is next in its lane and the sender owns
// the lane's partition.
func testDeliveryBegins(t *testing.T, b *bundle) {
	old := b.take(3, "a")
	epoch := b.take(3, "b")
	begin := func(epoch int64) ledger.Delivery {
		d := newDelivery("c|x")
		d.Partition, d.Status, d.Epoch, d.SentAt = 3, ledger.DeliverySending, epoch, at(1)
		d.Decision = &policy.Decision{Action: policy.Allow}
		return d
	}
	change := func(d ledger.Delivery) ledger.Change { return ledger.Change{Begin: []ledger.Delivery{d}} }
	for _, foreign := range []int64{old, epoch + 1} {
		b.refuse(sessions.ErrConflict, change(begin(foreign)))
	}
	first := begin(epoch)
	b.commit(change(first))
	got := b.delivery(first.ID)
	first.Seq = got.Seq
	require.Equal(t, first, got)
	b.refuse(sessions.ErrConflict, change(begin(epoch))) // the first delivery is still being sent
	b.refuse(sessions.ErrDuplicate, ledger.Change{Deliver: []ledger.Delivery{first}})
	first.Status = ledger.DeliverySent
	b.commit(moveDelivery(ledger.DeliverySending, first))
	waiting, elsewhere := newDelivery("c|x"), begin(epoch)
	b.commit(ledger.Change{Deliver: []ledger.Delivery{waiting}})
	b.refuse(sessions.ErrConflict, change(begin(epoch)))
	elsewhere.Lane = "c|y"
	b.commit(change(elsewhere))
	waiting.Status = ledger.DeliveryDiscarded
	b.commit(moveDelivery(ledger.DeliveryQueued, waiting))
	b.commit(change(begin(epoch)))
}
