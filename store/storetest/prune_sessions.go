package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// endedSession stores an ended session with a message and a finished run. by is the session that started it.
func (b *bundle) endedSession(key string, by sessions.ID, ended time.Time) (sessions.Record, sessions.Run) {
	b.t.Helper()
	m := newMessage("", "what was said in "+key)
	s := newSession(key)
	s.SpawnedBy, s.Ended, s.LastActivity, s.Head = by, ended, start, m.ID
	r := newRun(s.ID)
	r.Status, r.Finished, r.Exchange = sessions.RunDone, at(1), "xch_1"
	b.commit(ledger.Change{
		Change: sessions.Change{Create: []sessions.Record{s}, Messages: []sessions.StoredMessage{{Session: s.ID, Message: m}}, Enqueue: []sessions.Run{r}},
		Event:  &ledger.Event{Key: r.EventKey, Outcome: ledger.OutcomeRun, Session: s.ID, Run: r.ID, Accepted: start},
	})
	return s, r
}

// testPruneArchived: the data of sub-agents is removed some time after they have ended.
func testPruneArchived(t *testing.T, b *bundle) {
	parent := b.create(newSession("agent:main:main"))
	task := func(name string) (sessions.Record, sessions.Run) {
		return b.endedSession("agent:main:subagent:"+name, parent.ID, at(10))
	}
	kept := b.neededSessions(task)
	kept["it was active lately"], _ = b.endedSession("agent:main:subagent:young", parent.ID, at(100))
	kept["it is a conversation with people"], _ = b.endedSession("agent:main:direct:5", "", at(10))
	kept["it has not ended"], _ = b.endedSession("agent:main:subagent:live", parent.ID, time.Time{})
	b.goes(t, ledger.PruneArchived, task, kept)
}

// testPruneSessions: an ended conversation is removed when its last activity is old enough, even if it ended
// recently.
func testPruneSessions(t *testing.T, b *bundle) {
	talk := func(name string) (sessions.Record, sessions.Run) {
		return b.endedSession("agent:main:direct:"+name, "", at(99))
	}
	kept := b.neededSessions(talk)
	spoken, _ := talk("spoken")
	failed := newRun(spoken.ID)
	failed.Status, failed.Accepted, failed.Finished = sessions.RunFailed, at(50), at(50)
	b.enqueue(failed)
	kept["somebody spoke in it lately"] = spoken
	kept["it is a sub-agent's"], _ = b.endedSession("agent:main:subagent:5", "sess_x", at(10))
	kept["it has not ended"], _ = b.endedSession("agent:main:direct:live", "", time.Time{})
	b.goes(t, ledger.PruneSessions, talk, kept)
}

// goes checks that an ended session's rows are removed in small steps, that its event keys stay, and that unfinished
// work keeps it.
func (b *bundle) goes(t *testing.T, kind ledger.PruneKind, ended func(name string) (sessions.Record, sessions.Run), kept map[string]sessions.Record) {
	t.Helper()
	gone, run := ended("gone")
	last := gone.Head
	for i := range 450 {
		m := newMessage(last, fmt.Sprint("more ", i))
		b.commit(ledger.Change{Change: sessions.Change{Messages: []sessions.StoredMessage{{Session: gone.ID, Message: m}}}})
		last = m.ID
	}
	decided := newApproval("apr_gone", gone.ID, run.ID, 1)
	decided.Status, decided.Decided = ledger.ApprovalDenied, at(2)
	file := newMedia(at(1))
	file.Session = gone.ID
	b.commit(ledger.Change{Ask: []ledger.Approval{decided}, Media: []ledger.Media{file}})

	b.prune(kind, at(50), 451+1+1+1+1)
	_, err := b.Session(b.ctx, gone.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	thread, err := b.Thread(b.ctx, sessions.Record{ID: gone.ID, Head: last})
	require.ErrorIs(t, err, sessions.ErrNotFound)
	require.Empty(t, thread)
	_, err = b.Run(b.ctx, run.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	_, err = b.Approval(b.ctx, decided.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	_, err = b.Media(b.ctx, file.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound)
	e, err := b.Event(b.ctx, run.EventKey)
	require.NoError(t, err, "its key is known for ever")
	require.Empty(t, e.Run)
	b.refuse(sessions.ErrDuplicate, ledger.Change{Event: &ledger.Event{Key: run.EventKey, Outcome: ledger.OutcomeRun, Accepted: at(60)}})
	for why, s := range kept {
		b.untouched(s, why)
	}
	b.prune(kind, at(50), 0)
}

// neededSessions returns sessions that something unfinished needs, named by the reason.
func (b *bundle) neededSessions(task func(name string) (sessions.Record, sessions.Run)) map[string]sessions.Record {
	b.t.Helper()
	kept := map[string]sessions.Record{}
	busy, _ := task("busy")
	b.enqueue(newRun(busy.ID))
	kept["a run waits in it"] = busy

	asks, run := task("asks")
	b.commit(ledger.Change{Ask: []ledger.Approval{newApproval("apr_open", asks.ID, run.ID, 1)}})
	kept["an approval is open"] = asks

	asked, _ := task("asked")
	waits, _ := task("waits")
	b.commit(ledger.Change{Exchanges: []ledger.Exchange{newExchange(asked.ID, "sess_x"), newExchange("sess_x", waits.ID)}})
	kept["it has asked another session"], kept["another session waits for it"] = asked, waits

	owes, _ := task("owes")
	d := newDelivery("c|x")
	d.Session, d.Status = owes.ID, ledger.DeliveryUnknown
	b.commit(ledger.Change{Deliver: []ledger.Delivery{d}})
	kept["a delivery is owed"] = owes

	above, _ := task("above")
	b.endedSession("agent:main:subagent:below", above.ID, time.Time{})
	kept["a sub-agent of it works"] = above
	return kept
}

// untouched checks that the session is as it was stored, with its message.
func (b *bundle) untouched(s sessions.Record, why string) {
	b.t.Helper()
	got, err := b.Session(b.ctx, s.ID)
	require.NoError(b.t, err, why)
	require.Equal(b.t, s.Head, got.Head, why)
	thread, err := b.Thread(b.ctx, got)
	require.NoError(b.t, err, why)
	require.Len(b.t, thread, 1, why)
	runs, err := b.ListRuns(b.ctx, ledger.Query{MaxLevel: flow.Restricted, Session: s.ID})
	require.NoError(b.t, err, why)
	require.NotEmpty(b.t, runs, why)
}
