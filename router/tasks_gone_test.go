package router_test

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/sessions"
)

// slowly lets sub-agents work for a while.
func (k *talk) slowly(d time.Duration) {
	k.agent.work = func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
		if run.Kind == sessions.KindTask {
			time.Sleep(d)
		}
		return k.work(ctx, s, run)
	}
}

// atWork is a talk in which a sub-agent of ann's has worked for a minute of the ten that it needs.
func atWork(t *testing.T, change ...func(*exchange.Ask)) (k *talk, ann sessions.Record, x ledger.Exchange) {
	t.Helper()
	k = newTalk(t)
	ann = k.session("ann")
	k.await(1)
	k.slowly(10 * time.Minute)
	x = k.spawn(ann, "prices", change...)
	time.Sleep(time.Minute)
	return k, ann, x
}

// notes are the words of other agents in a session's transcript.
func (k *talk) notes(id sessions.ID) (texts []string) {
	k.t.Helper()
	record, err := k.store.Session(context.Background(), id)
	require.NoError(k.t, err)
	messages, err := k.store.Thread(context.Background(), record)
	require.NoError(k.t, err)
	for _, m := range messages {
		if m.Role == sessions.RoleAgent {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

// A requester that was reset in the meantime is told where it asked, and the session that came after it knows.
func TestReportFindsTheSuccessor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		k.slowly(10 * time.Minute)
		x := k.spawn(ann, "prices")
		require.Contains(t, k.hear(in("ann", "2", "/reset")).Notice, "New session started")
		k.await(2)
		require.Equal(t, announce.Announced, k.over(x.ID).Outcome)
		k.await(1)
		synctest.Wait()
		report := k.chat.texts("ann")[2]
		require.Contains(t, report, "**Status:** success (prices)")
		successor, err := k.store.SessionByKey(t.Context(), ann.Key)
		require.NoError(t, err)
		require.NotEqual(t, ann.ID, successor.ID)
		require.Equal(t, []string{report}, k.notes(successor.ID))
		require.Empty(t, k.notes(ann.ID))
	})
}

// A requester whose time was over, with nobody after it, is told all the same where it asked.
func TestReportOutlivesItsRequester(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		k.slowly(10 * time.Minute)
		x := k.spawn(ann, "prices")
		require.NoError(t, k.store.CommitSession(t.Context(), sessions.Change{End: []sessions.End{{ID: ann.ID, At: time.Now()}}}))
		k.await(1)
		require.Equal(t, announce.Announced, k.over(x.ID).Outcome)
		k.await(1)
		require.Contains(t, k.chat.texts("ann")[1], "**Status:** success (prices)")
		_, err := k.store.SessionByKey(t.Context(), ann.Key)
		require.ErrorIs(t, err, sessions.ErrNotFound)

		again := k.session2("ann")
		require.Empty(t, k.notes(again.ID))
	})
}

// session2 starts a new session for a person.
func (k *talk) session2(who string) sessions.Record {
	k.t.Helper()
	k.ended(k.hear(in(who, "again", "hello again")).Run)
	record, err := k.store.SessionByKey(context.Background(), sessions.Key("agent:main:direct:"+who))
	require.NoError(k.t, err)
	return record
}

// Who deletes a session stops what works for it; that it was stopped is kept with the exchange.
func TestDeletingStopsSubAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		k.hold()
		x := k.spawn(ann, "prices")
		synctest.Wait()
		require.NoError(t, k.DeleteSession(t.Context(), ann.ID, "operator"))
		require.Equal(t, sessions.RunAborted, k.ended(x.First).Status)
		x = k.over(x.ID)
		require.Equal(t, announce.Stopped, x.Outcome)
		require.Equal(t, "a person stopped it", x.Detail)
	})
}

// Where nobody can be told, the result is kept with the exchange, and the requester has its note.
func TestReportWithoutARoute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		x := k.over(k.spawn(ann, "prices", func(a *exchange.Ask) { a.Caller.Route = sessions.Route{} }).ID)
		require.Equal(t, announce.Silent, x.Outcome)
		require.Equal(t, "that session has no conversation on a channel", x.Detail)
		require.Equal(t, "task 1", x.Reply)
		synctest.Wait()
		notes := k.notes(ann.ID)
		require.Len(t, notes, 1)
		require.Contains(t, notes[0], "**Result:** task 1")
		require.Len(t, k.chat.texts("ann"), 1)
	})
}

// live reports whether a session has not ended.
func (k *talk) live(id sessions.ID) bool {
	k.t.Helper()
	record, err := k.store.Session(context.Background(), id)
	require.NoError(k.t, err)
	return record.Ended.IsZero()
}

// A sub-agent's session ends this many minutes after its report; never, where that is off. The sweep comes each hour.
func TestSubAgentsAreArchived(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after time.Duration
		lives []bool // after one hour, two, three
	}{
		"in ninety minutes": {90 * time.Minute, []bool{true, true, false}},
		"in a minute":       {time.Minute, []bool{false, false, false}},
		"never":             {0, []bool{true, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newTalk(t)
				ann := k.session("ann")
				k.settings.Exchanges.ArchiveAfter = c.after
				k.slowly(45 * time.Minute)
				x := k.over(k.spawn(ann, "prices").ID)
				require.True(t, k.live(x.Target.Session))
				time.Sleep(10 * time.Minute) // 55 minutes since it was made, 10 since its report
				for i, want := range c.lives {
					time.Sleep(time.Hour)
					synctest.Wait()
					require.Equal(t, want, k.live(x.Target.Session), "after %d hours", i+1)
				}
				require.True(t, k.live(ann.ID))
				if c.after > 0 {
					k.archived(x)
				}
			})
		})
	}
}

// archived checks that the transcript of a task's session can be read, by its key as well, until somebody deletes it, and that
// nothing else can be done there.
func (k *talk) archived(x ledger.Exchange) {
	k.t.Helper()
	for _, name := range []string{string(x.Target.Session), string(x.Target.Key)} {
		record, err := k.ReadableSession(k.t.Context(), name)
		require.NoError(k.t, err)
		require.True(k.t, record.Archived)
		thread, err := k.store.Thread(k.t.Context(), record)
		require.NoError(k.t, err)
		require.NotEmpty(k.t, thread)
		_, err = k.ResolveSession(k.t.Context(), name)
		require.ErrorIs(k.t, err, sessions.ErrNotFound)
	}
	require.NoError(k.t, k.DeleteSession(k.t.Context(), x.Target.Session, "operator"))
	for _, name := range []string{string(x.Target.Session), string(x.Target.Key)} {
		_, err := k.ReadableSession(k.t.Context(), name)
		require.ErrorIs(k.t, err, sessions.ErrNotFound)
	}
	require.ErrorIs(k.t, k.DeleteSession(k.t.Context(), x.Target.Session, "operator"), sessions.ErrNotFound)
}

// With cleanup delete the session ends with the report, which is told and noted all the same.
func TestSubAgentIsDiscarded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		k.await(1)
		x := k.over(k.spawn(ann, "prices", func(a *exchange.Ask) { a.Task.Discard = true }).ID)
		require.False(t, k.live(x.Target.Session))
		_, err := k.store.SessionByKey(t.Context(), x.Target.Key)
		require.ErrorIs(t, err, sessions.ErrNotFound)
		k.await(1)
		synctest.Wait()
		require.Len(t, k.notes(ann.ID), 1)
	})
}

// A sub-agent's session that somebody ended under its hands does not keep its report from being told.
func TestSubAgentIsEndedAtWork(t *testing.T) {
	t.Parallel()
	for name, discard := range map[string]bool{"kept": false, "to be discarded": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k, _, x := atWork(t, func(a *exchange.Ask) { a.Task.Discard = discard })
				_, err := k.ResetSession(t.Context(), x.Target.Session, "operator")
				require.NoError(t, err)
				x = k.over(x.ID)
				require.Equal(t, announce.Announced, x.Outcome, x.Detail)
				k.await(1)
				require.Contains(t, k.chat.texts("ann")[1], "**Status:** success (prices)")
			})
		})
	}
}

// Where the sub-agent's session has ended for good, the report goes out without further words of its own.
func TestReportOutlivesItsSubAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, ann, x := atWork(t)
		require.NoError(t, k.store.CommitSession(t.Context(), sessions.Change{End: []sessions.End{{ID: x.Target.Session, At: time.Now()}}}))
		x = k.over(x.ID)
		require.Equal(t, announce.Announced, x.Outcome)
		require.Contains(t, x.Detail, "has ended")
		k.await(1)
		report := k.chat.texts("ann")[1]
		require.Contains(t, report, "**Status:** success (prices)\n\n**Result:** task 1\n\n**Notes:** "+x.Detail)
		synctest.Wait()
		require.Equal(t, []string{report}, k.notes(ann.ID))
	})
}

// A task whose chain has used up what it may is reported without further words of the sub-agent.
func TestReportIsNotLostToTheBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		k.await(1)
		k.settings.Exchanges.MaxSteps = 1
		x := k.over(k.spawn(ann, "prices").ID)
		require.Equal(t, announce.Announced, x.Outcome)
		require.Contains(t, x.Detail, "maximum number of steps")
		k.await(1)
		require.Contains(t, k.chat.texts("ann")[1], "**Result:** task 1\n\n**Notes:** the agents have reached")
		require.Len(t, k.heard(), 1)
		silent := k.over(k.spawn(ann, "no route", func(a *exchange.Ask) { a.Caller.Route = sessions.Route{} }).ID)
		require.Equal(t, announce.Silent, silent.Outcome)
		synctest.Wait()
		require.Len(t, k.notes(ann.ID), 2)
		require.Len(t, k.chat.texts("ann"), 2)
	})
}

// A task that takes too long says which limit ended it: its own, or that of all runs.
func TestTasksSayWhichLimitEndedThem(t *testing.T) {
	t.Parallel()
	for want, own := range map[string]time.Duration{
		"**Notes:** the task did not end within 1m0s (session.runTimeout)": 0,
		"**Notes:** the task did not end within 5s (runTimeoutSeconds)":    5 * time.Second,
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newTalk(t)
				ann := k.session("ann")
				k.await(1)
				begun := time.Now()
				k.agent.work = func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
					if run.Kind == sessions.KindTask {
						<-ctx.Done()
						return "", &sessions.WorkError{Status: sessions.RunTimeout, Public: "I ran out of time.", Err: ctx.Err()}
					}
					return k.work(ctx, s, run)
				}
				k.over(k.spawn(ann, "prices", func(a *exchange.Ask) { a.Task.Timeout = own }).ID)
				require.Equal(t, cmp.Or(own, time.Minute), time.Since(begun).Round(time.Second))
				k.await(1)
				require.Contains(t, k.chat.texts("ann")[1], want)
			})
		})
	}
}

// The line of statistics has the cost of a task's calls; where a price is not known, it says so.
func TestReportsHaveTheCost(t *testing.T) {
	t.Parallel()
	for want, calls := range map[string][]spending.Call{
		"tokens 0 in, 1 out · session":                                               nil,
		"tokens 0 in, 1 out · cost 3.00 EUR · session":                               {{Cost: spending.One, Currency: "EUR"}, {Cost: 2 * spending.One, Currency: "EUR"}},
		"tokens 0 in, 1 out · cost unknown · session":                                {{}},
		"tokens 0 in, 1 out · cost 1.00 EUR, and unknown for 1 of 2 calls · session": {{Cost: spending.One, Currency: "EUR"}, {}},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := newTalk(t)
			ann := k.session("ann")
			k.await(1)
			k.agent.work = func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
				for i, c := range calls {
					c.ID, c.Session, c.Run, c.Outcome, c.Priced, c.Level = fmt.Sprint("call", i), run.Session, run.ID, spending.OutcomeOK, c.Currency != "", flow.Public
					if run.Kind == sessions.KindTask {
						require.NoError(t, k.store.Post(ctx, &spending.Posting{Call: c}))
					}
				}
				return k.work(ctx, s, run)
			}
			k.over(k.spawn(ann, "prices").ID)
			k.await(1)
			require.Contains(t, k.chat.texts("ann")[1], want)
		})
	}
}
