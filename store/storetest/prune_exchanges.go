package storetest

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/router/ledger"
	"sluice/sessions"
)

// endedExchange stores an exchange that has ended, with its run.
func (b *bundle) endedExchange(change func(*ledger.Exchange)) ledger.Exchange {
	b.t.Helper()
	x := newExchange("sess_1", "sess_2")
	x.Key = ledger.ToolCallPrefix + x.ID
	x.Exchange = announce.Stop(x.Exchange, "a person stopped it", at(1))
	x.Reply = "seven"
	change(&x)
	r := newRun(x.Target.Session)
	r.ID, r.EventKey, r.Exchange, r.Kind, r.Status, r.Finished = x.First, x.Key, x.ID, sessions.KindAsk, sessions.RunDone, at(1)
	b.commit(ledger.Change{
		Exchanges: []ledger.Exchange{x}, Change: sessions.Change{Enqueue: []sessions.Run{r}},
		Event: &ledger.Event{Key: x.Key, Outcome: ledger.OutcomeRun, Session: r.Session, Run: r.ID, Accepted: start},
	})
	return x
}

// An exchange that ended long ago is removed, and then its runs. With a client's key, the row stays without its
// texts.
func testPruneExchanges(t *testing.T, b *bundle) {
	as := func(*ledger.Exchange) {}
	var gone []ledger.Exchange
	for range 450 {
		gone = append(gone, b.endedExchange(as))
	}
	named := b.endedExchange(func(x *ledger.Exchange) { x.Key = "task/api/1" })
	kept := map[string]ledger.Exchange{
		"it has ended lately": b.endedExchange(func(x *ledger.Exchange) { x.Ended = at(50) }),
		"it has not ended": b.endedExchange(func(x *ledger.Exchange) {
			x.Phase, x.Ended = announce.Asking, time.Time{}
		}),
	}
	child := b.create(newSession("agent:main:subagent:1"))
	kept["its sub-agent lives, and reads the memories of who has asked"] = b.endedExchange(func(x *ledger.Exchange) {
		x.Kind, x.Target.Session, x.Audience = announce.Spawn, child.ID, "owner"
	})
	works := b.endedExchange(func(x *ledger.Exchange) { x.Target.Session = "sess_3" })
	step := newRun("sess_4") // the successor of sess_3
	step.Exchange = works.ID
	kept["a run of it has not ended"] = works
	calls := newRun("sess_5")
	kept["the run that made the call may make it again"] = b.endedExchange(func(x *ledger.Exchange) { x.Requester.Session = "sess_5" })
	later := newRun("sess_6")
	later.Accepted = at(2)
	b.enqueue(step, calls, later)
	gone = append(gone, b.endedExchange(func(x *ledger.Exchange) { x.Requester.Session = "sess_6" }))

	b.prune(ledger.PruneRuns, at(50), 0)
	b.prune(ledger.PruneExchanges, at(50), 452)
	b.prune(ledger.PruneExchanges, at(50), 0)
	for i, x := range gone {
		_, err := b.Exchange(b.ctx, x.ID)
		require.ErrorIs(t, err, sessions.ErrNotFound, strconv.Itoa(i))
		b.refuse(sessions.ErrDuplicate, ledger.Change{Event: &ledger.Event{Key: x.Key, Outcome: ledger.OutcomeRun, Accepted: at(60)}})
	}
	for why, x := range kept {
		require.Equal(t, x, b.exchange(x.ID), why)
	}
	again, err := b.ExchangeByKey(b.ctx, named.Key)
	require.NoError(t, err)
	empty := ledger.Exchange{Revision: 1, Key: named.Key, First: named.First, Run: named.Run, Label: named.Label}
	empty.Exchange = announce.Exchange{
		ID: named.ID, Kind: announce.Send, Phase: announce.Ended, Started: start, Ended: at(1),
		Requester: announce.Party{Session: "sess_1"}, Target: announce.Party{Session: "sess_2"},
	}
	require.Equal(t, empty, again)

	last := newRun("sess_2")
	last.Kind, last.Status, last.Finished = sessions.KindAsk, sessions.RunDone, at(1)
	b.enqueue(last)
	b.prune(ledger.PruneRuns, at(50), 452) // the runs of gone and named
	b.run(last.ID)
	for why, x := range kept {
		require.Equal(t, x.First, b.run(x.First).ID, why)
	}
}

func testExchangeByKey(t *testing.T, b *bundle) {
	x, other, nameless := newExchange("sess_1", "sess_2"), newExchange("sess_1", "sess_2"), newExchange("sess_1", "sess_2")
	x.Key, other.Key = "task/api/1", "task/api/2"
	b.commit(storeExchange(x, other, nameless))
	got, err := b.ExchangeByKey(b.ctx, x.Key)
	require.NoError(t, err)
	require.Equal(t, x, got)
	_, err = b.ExchangeByKey(b.ctx, "task/api/3")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	_, err = b.ExchangeByKey(b.ctx, "")
	require.ErrorIs(t, err, sessions.ErrNotFound, "what has no key is not found by none")
}

// The resources of an old chain are forgotten, unless one of its runs is unfinished.
func testPruneChains(t *testing.T, b *bundle) {
	use := func(id string, started time.Time) {
		b.commit(ledger.Change{Chains: []ledger.ChainUse{{ID: id, Steps: 3, Started: started}}})
	}
	for i := range 250 {
		use(fmt.Sprint("chn_old", i), at(1))
	}
	use("chn_open", at(0))
	use("chn_young", at(50))
	done, open, plain := newRun("sess_1"), newRun("sess_1"), newRun("sess_1")
	done.Chain, done.Status = sessions.Chain{ID: "chn_old1", Hops: []sessions.ID{"sess_0"}}, sessions.RunDone
	open.Chain = sessions.Chain{ID: "chn_open", Hops: []sessions.ID{"sess_0"}}
	b.enqueue(done, open, plain)
	b.prune(ledger.PruneChains, at(50), 250)
	b.prune(ledger.PruneChains, at(50), 0)
	for _, id := range []string{"chn_open", "chn_young"} {
		u, err := b.Chain(b.ctx, id)
		require.NoError(t, err)
		require.Equal(t, 3, u.Steps)
	}
	_, err := b.Chain(b.ctx, "chn_old1")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

// The run that an edited message led to is forgotten together with the run.
func testPruneRevisions(t *testing.T, b *bundle) {
	s := b.create(newSession("agent:main:main"))
	edit := func(message sessions.PlatformMessageID, session sessions.ID) sessions.Run {
		r := newRun(session)
		r.Status, r.Finished = sessions.RunDone, at(1)
		b.commit(ledger.Change{Change: sessions.Change{Enqueue: []sessions.Run{r}}, Revised: &ledger.Revision{Lane: "c|x", Message: message, Run: r.ID}})
		return r
	}
	edit("1", s.ID)
	edit("2", s.ID)
	last := edit("2", s.ID)
	talk, _ := b.endedSession("agent:main:direct:5", "", at(10))
	edit("3", talk.ID)
	b.prune(ledger.PruneRuns, at(50), 3) // and the first of two in the ended session
	b.prune(ledger.PruneSessions, at(50), 3)
	for _, message := range []sessions.PlatformMessageID{"1", "3"} {
		_, err := b.Revision(b.ctx, "c|x", message)
		require.ErrorIs(t, err, sessions.ErrNotFound)
	}
	got, err := b.Revision(b.ctx, "c|x", "2")
	require.NoError(t, err)
	require.Equal(t, last.ID, got.Run)
}
