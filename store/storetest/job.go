package storetest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func newJob(id string, created int) ledger.Job {
	return ledger.Job{
		Origin: ledger.JobMade, ID: id, Revision: 1, Partition: 3, Label: secret, Session: "sess_1", Created: at(created), Changed: at(created),
		JobDetail: ledger.JobDetail{
			Object: json.RawMessage(`{"schedule":"0 7 * * *","text":"gröt\n"}`), Maker: "session:x", By: "y", Limits: true,
			Home: sessions.Route{Channel: "c", Account: "a", Conversation: "z", ChatType: sessions.Direct},
		},
	}
}

func storeJobs(j ...ledger.Job) ledger.Change { return ledger.Change{Jobs: j} }

func testJobRoundTrip(t *testing.T, b *bundle) {
	j, file, elsewhere := newJob("brief", 1), newJob("brief", 2), newJob("far", 3)
	file.Origin, file.JobDetail, file.Session, file.Label = ledger.JobOfFile, ledger.JobDetail{Paused: true}, "", flow.Bottom()
	elsewhere.Partition = 4
	b.commit(storeJobs(j, file, elsewhere))
	in, err := b.JobsIn(b.ctx, 3)
	require.NoError(t, err)
	require.Equal(t, []ledger.Job{file, j}, in)
	b.refuse(sessions.ErrConflict, ledger.Change{Jobs: []ledger.Job{j}, Triggers: []ledger.Trigger{newTrigger("brief", 5)}})
	require.Empty(t, b.openTriggers(10), "what comes with a refused job is not stored")

	j.Revision, j.Paused, j.By, j.Changed, j.Label = 2, true, "z", at(9), flow.Bottom()
	b.commit(storeJobs(j))
	b.refuse(sessions.ErrConflict, storeJobs(j))
	got, err := b.Job(b.ctx, ledger.JobMade, "brief")
	require.NoError(t, err)
	require.Equal(t, j, got)

	gone := j
	gone.Gone = true
	b.refuse(sessions.ErrConflict, storeJobs(gone))
	gone.Revision = 3
	b.commit(storeJobs(gone))
	_, err = b.Job(b.ctx, ledger.JobMade, "brief")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	got, err = b.Job(b.ctx, ledger.JobOfFile, "brief")
	require.NoError(t, err)
	require.Equal(t, file, got)
}

func testJobList(t *testing.T, b *bundle) {
	high, low, other := newJob("b", 1), newJob("a", 2), newJob("c", 3)
	low.Label, other.Label, other.Session = flow.Bottom(), flow.Bottom(), "sess_2"
	pause := ledger.Job{Origin: ledger.JobOfFile, ID: "d", Revision: 1, Label: flow.Bottom(), Created: at(4), Changed: at(4)}
	b.commit(storeJobs(high, low, other, pause))
	list := func(q ledger.JobQuery) (ids string) {
		got, err := b.ListJobs(b.ctx, q)
		require.NoError(t, err)
		for _, j := range got {
			ids += j.ID
		}
		return ids
	}
	require.Equal(t, "abcd", list(ledger.JobQuery{MaxLevel: flow.Restricted}))
	require.Equal(t, "acd", list(ledger.JobQuery{MaxLevel: flow.Internal}))
	require.Equal(t, "ab", list(ledger.JobQuery{MaxLevel: flow.Restricted, Session: "sess_1"}))
	require.Equal(t, "a", list(ledger.JobQuery{MaxLevel: flow.Restricted, Limit: 1}))
	require.Equal(t, "cd", list(ledger.JobQuery{MaxLevel: flow.Restricted, After: "b"}))
	count := func(session sessions.ID, upTo flow.Level) ledger.JobCount {
		got, err := b.CountJobs(b.ctx, session, at(2), upTo)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, ledger.JobCount{All: 3, Session: 2, Recent: 1}, count("sess_1", flow.Restricted))
	require.Equal(t, ledger.JobCount{All: 2, Session: 1, Recent: 1}, count("sess_2", flow.Internal))
	require.Equal(t, ledger.JobCount{All: 3}, count("sess_9", flow.Restricted))
}

func testTriggerList(t *testing.T, b *bundle) {
	x, secretOne, open, other := newTrigger("brief", 1), newTrigger("brief", 2), newTrigger("brief", 3), newTrigger("other", 4)
	x.Label, open.Label = flow.Bottom(), flow.Bottom()
	x.Status, x.Ended = ledger.TriggerOK, at(9)
	x.Created, secretOne.Created, open.Created = at(1), at(2), at(3)
	b.commit(storeTriggers(x, secretOne, open, other))
	list := func(q ledger.TriggerQuery) []ledger.Trigger {
		q.Source, q.Subject = ledger.TriggerCron, "brief"
		got, err := b.ListTriggers(b.ctx, q)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, []ledger.Trigger{open, secretOne, x}, list(ledger.TriggerQuery{MaxLevel: flow.Restricted}))
	require.Equal(t, []ledger.Trigger{open, x}, list(ledger.TriggerQuery{MaxLevel: flow.Internal}))
	require.Equal(t, []ledger.Trigger{open}, list(ledger.TriggerQuery{MaxLevel: flow.Internal, Limit: 1}))
	require.Equal(t, []ledger.Trigger{x}, list(ledger.TriggerQuery{MaxLevel: flow.Internal, After: open.Key}))
	require.Empty(t, list(ledger.TriggerQuery{MaxLevel: flow.Internal, After: secretOne.Key}), "a row above the level is treated as unknown")
	found, err := b.OpenTriggersOf(b.ctx, ledger.TriggerCron, []string{"other", "brief", "none"})
	require.NoError(t, err)
	require.ElementsMatch(t, []ledger.Trigger{secretOne, open, other}, found)
	found, err = b.OpenTriggersOf(b.ctx, ledger.TriggerCron, nil)
	require.NoError(t, err)
	require.Empty(t, found)
}

func testFailedJobs(t *testing.T, b *bundle) {
	trigger := func(subject string, status ledger.TriggerStatus, ended int, label flow.Label) ledger.Trigger {
		x := newTrigger(subject, ended)
		x.Status, x.Ended, x.Label = status, at(ended), label
		return x
	}
	hook := trigger("hook", ledger.TriggerFailed, 9, flow.Bottom())
	hook.Source, hook.Key = ledger.TriggerHook, "hook/x/1"
	b.commit(storeTriggers(
		trigger("twice", ledger.TriggerFailed, 8, flow.Bottom()), trigger("twice", ledger.TriggerUndelivered, 9, flow.Bottom()), trigger("fine", ledger.TriggerOK, 9, flow.Bottom()),
		trigger("before", ledger.TriggerFailed, 4, flow.Bottom()), trigger("above", ledger.TriggerFailed, 9, secret), hook, newTrigger("waits", 9),
	))
	failed := func(most flow.Level, limit int) []string {
		ids, err := b.FailedJobs(b.ctx, most, at(5), limit)
		require.NoError(t, err)
		return ids
	}
	marks := func(most flow.Level) uint64 {
		m, err := b.Marks(b.ctx, most)
		require.NoError(t, err)
		return m["jobs"]
	}
	low, high := marks(flow.Internal), marks(flow.Restricted)
	b.commit(storeTriggers(trigger("late", ledger.TriggerOK, 10, secret)))
	require.Equal(t, low, marks(flow.Internal), "it is above the caller")
	require.NotEqual(t, high, marks(flow.Restricted), "the list of jobs shows how their times ended")
	require.Equal(t, []string{"above", "twice"}, failed(flow.Restricted, 10))
	require.Equal(t, []string{"above"}, failed(flow.Restricted, 1))
	require.Equal(t, []string{"twice"}, failed(flow.Internal, 10))
}
