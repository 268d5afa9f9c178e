package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

func newTrigger(subject string, due int) ledger.Trigger {
	return ledger.Trigger{
		Key: "cron/" + subject + "/" + at(due).String(), Revision: 1, Source: ledger.TriggerCron, Subject: subject, Partition: 3,
		Status: ledger.TriggerWaiting, Due: at(due), Label: secret, Created: start,
		TriggerDetail: ledger.TriggerDetail{Instant: at(due), Plan: "0 7 * * *|UTC", Anchor: start},
	}
}

func storeTriggers(t ...ledger.Trigger) ledger.Change { return ledger.Change{Triggers: t} }

func (b *bundle) openTriggers(limit int) []ledger.Trigger {
	b.t.Helper()
	got, err := b.OpenTriggers(b.ctx, 3, limit)
	require.NoError(b.t, err)
	return got
}

func testTriggerRoundTrip(t *testing.T, b *bundle) {
	x, later, elsewhere := newTrigger("brief", 5), newTrigger("other", 9), newTrigger("far", 1)
	elsewhere.Partition = 4
	b.commit(storeTriggers(later, x, elsewhere))
	require.Equal(t, []ledger.Trigger{x, later}, b.openTriggers(10), "those of the partition, in the order in which they are due")
	require.Equal(t, []ledger.Trigger{x}, b.openTriggers(1))
	lanes, err := b.WaitingLanes(b.ctx, 3)
	require.NoError(t, err)
	require.Equal(t, []sessions.Lane{ledger.DueLane}, lanes)

	x.Revision, x.Status, x.Due, x.Fired = 2, ledger.TriggerDelivering, at(7), at(6)
	x.Alerts = []string{"hook/ci/a", "hook/ci/ü"}
	x.Sends = []ledger.TriggerSend{{Target: "owner", Delivery: "dlv_1", At: at(6)}, {Target: "ünï", Error: "no such chat", At: at(6), Replaced: true}}
	x.Replaced = 1
	x.Asked, x.Seen = at(5), map[string]int64{"ci": 3, "disk": 0}
	x.Found = []ledger.TriggerNews{{Check: "ci", Value: `"röd"`, Before: "null", Label: secret}}
	x.Wakes = []ledger.TriggerWake{{ID: "main/w1", From: sessions.Peer{ID: "token:ops", Name: "öps"}, Text: "löok\n", Label: secret, At: at(4)}}
	b.commit(storeTriggers(x))
	require.Equal(t, []ledger.Trigger{x, later}, b.openTriggers(10))
	x.Revision, x.Status, x.Ended, x.Why = 3, ledger.TriggerUndelivered, at(8), "1 of 2 targets have no receipt"
	b.commit(storeTriggers(x))
	require.Equal(t, []ledger.Trigger{later}, b.openTriggers(10))
	ended, err := b.EndedTriggers(b.ctx, ledger.EndedTriggers{Source: ledger.TriggerCron, Subject: "brief", Limit: 10})
	require.NoError(t, err)
	require.Equal(t, []ledger.Trigger{x}, ended)
	later.Revision, later.Status, later.Ended = 2, ledger.TriggerMissed, at(10)
	b.commit(storeTriggers(later))
	lanes, err = b.WaitingLanes(b.ctx, 3)
	require.NoError(t, err)
	require.Empty(t, lanes)
}

// The end of a run makes the trigger that caused it due, while the trigger waits for it.
func testTriggerOfRun(t *testing.T, b *bundle) {
	x, other := newTrigger("brief", 5), newTrigger("other", 9)
	x.Status, x.Due, other.Due = ledger.TriggerRunning, at(50), at(51)
	b.commit(storeTriggers(x, other))
	session := newSession("cron:brief")
	b.commit(ledger.Change{Change: sessions.Change{Create: []sessions.Record{session}}})
	end := func(event string, kind sessions.RunKind) {
		run := newRun(session.ID)
		run.EventKey, run.Kind = event, kind
		b.enqueue(run)
		run.Status, run.Finished = sessions.RunAborted, at(20)
		b.commit(moveRun(sessions.RunQueued, run))
	}
	end(x.Key, sessions.KindMessage)
	require.Equal(t, []ledger.Trigger{x, other}, b.openTriggers(10), "a message is no run of a trigger, whatever its key")
	end(x.Key+"#2", sessions.KindTrigger)
	looked := x
	looked.Revision, looked.Due = 2, at(90)
	b.refuse(sessions.ErrConflict, storeTriggers(looked)) // by an owner who saw the run at work
	x.Revision, x.Due = 2, at(20)
	require.Equal(t, []ledger.Trigger{x, other}, b.openTriggers(10))
	end(other.Key, sessions.KindTrigger)
	require.Equal(t, []ledger.Trigger{x, other}, b.openTriggers(10), "it does not wait for a run")
	b.commit(ledger.Change{Change: sessions.Change{Abort: []sessions.Abort{{Session: session.ID, At: at(10), Triggers: []string{x.Key, other.Key}}}}})
	x.Revision, x.Due = 3, at(10)
	require.Equal(t, []ledger.Trigger{x, other}, b.openTriggers(10), "who stops the session ends its queued runs")
}

func testTriggerOnce(t *testing.T, b *bundle) {
	x := newTrigger("brief", 5)
	b.commit(storeTriggers(x))
	d := newDelivery("c|x")
	b.refuse(sessions.ErrDuplicate, ledger.Change{Triggers: []ledger.Trigger{x}, Deliver: []ledger.Delivery{d}})
	_, err := b.Delivery(b.ctx, d.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound, "what comes with a trigger that is known is not stored")

	moved := x
	moved.Revision, moved.Status, moved.Ended = 2, ledger.TriggerMissed, at(6)
	b.commit(storeTriggers(moved))
	b.refuse(sessions.ErrConflict, storeTriggers(moved))
	b.refuse(sessions.ErrDuplicate, storeTriggers(x))

	gone := newTrigger("brief", 15)
	b.commit(storeTriggers(gone))
	gone.Revision, gone.Status, gone.Ended = 2, ledger.TriggerWithdrawn, at(6)
	b.commit(storeTriggers(gone))
	again := newTrigger("brief", 15)
	b.commit(storeTriggers(again))
	require.Equal(t, []ledger.Trigger{again}, b.openTriggers(10), "nothing has followed from one that was withdrawn")
}

func testTriggerFence(t *testing.T, b *bundle) {
	old := b.take(3, "a")
	x := newTrigger("brief", 5)
	b.commit(storeTriggers(x))
	fresh := b.take(3, "b")
	x.Revision, x.Status, x.Epoch = 2, ledger.TriggerDelivering, old
	b.refuse(sessions.ErrFenced, storeTriggers(x))
	x.Epoch = fresh
	b.commit(storeTriggers(x))
}

func testPruneTriggers(t *testing.T, b *bundle) {
	open, old, young := newTrigger("a", 1), newTrigger("b", 2), newTrigger("c", 3)
	old.Status, old.Ended = ledger.TriggerOK, at(40)
	young.Status, young.Ended = ledger.TriggerOK, at(60)
	b.commit(storeTriggers(open, old, young))
	b.prune(ledger.PruneTriggers, at(50), 1)
	b.prune(ledger.PruneTriggers, at(50), 0)
	b.commit(storeTriggers(old))
	b.refuse(sessions.ErrDuplicate, storeTriggers(young))
	b.refuse(sessions.ErrDuplicate, storeTriggers(open))
}
