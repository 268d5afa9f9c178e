package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

// Messages are accepted while a backlog is removed step by step, and none of the new ones is removed.
func testPruneIntake(t *testing.T, b *bundle) {
	s := b.create(newSession("agent:main:main"))
	var backlog []sessions.Run
	for range 1000 {
		r := newRun(s.ID)
		r.Status, r.Finished = sessions.RunDone, at(1)
		backlog = append(backlog, r)
	}
	b.commit(ledger.Change{Change: sessions.Change{Enqueue: backlog}})
	take := func() sessions.Run {
		r := newRun(s.ID)
		r.Accepted = at(100)
		b.commit(ledger.Change{
			Change: sessions.Change{Enqueue: []sessions.Run{r}},
			Event:  &ledger.Event{Key: r.EventKey, Outcome: ledger.OutcomeRun, Session: s.ID, Run: r.ID, Accepted: r.Accepted},
		})
		return r
	}
	taken := []sessions.Run{take()}
	removed, steps := 0, 0
	for step := (ledger.Prune{Kind: ledger.PruneRuns, Before: at(50)}); ; steps++ {
		require.Less(t, steps, 10)
		var done ledger.Pruned
		var err error
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			done, err = b.Prune(b.ctx, step)
		}()
		for range 5 {
			taken = append(taken, take())
		}
		<-ended
		require.NoError(t, err)
		taken = append(taken, take())
		removed += done.Removed
		if step.After = done.Next; !done.More {
			break
		}
	}
	require.Equal(t, 1000, removed)
	require.GreaterOrEqual(t, steps, 4, "the backlog goes in several steps")
	for _, r := range taken {
		require.Equal(t, sessions.RunQueued, b.run(r.ID).Status)
		e, err := b.Event(b.ctx, r.EventKey)
		require.NoError(t, err)
		require.Equal(t, r.ID, e.Run)
	}
}
