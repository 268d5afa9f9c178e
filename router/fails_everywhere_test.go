package router_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/announce"
	"sluice/policy"
	"sluice/router/exchange"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/sessions"
)

// persist gives the router a message as a platform does, again and again until it is taken.
func (b *bundle) persist(m adapters.Inbound) inbound.Admitted {
	b.t.Helper()
	for range 30 {
		if got, err := b.Intake.Admit(context.Background(), inbound.Admission{Inbound: m}); err == nil {
			return got
		}
	}
	b.t.Fatalf("message %s is not taken", m.Event)
	return inbound.Admitted{}
}

// calm waits until nothing is left to do, however often it has failed.
func (b *bundle) calm() {
	for range 3 {
		time.Sleep(2 * time.Minute)
		for p := range partitions {
			b.Owner().Rescan(p)
		}
	}
	synctest.Wait()
}

// stored is a run as it is stored.
func (b *bundle) stands(id sessions.RunID) sessions.Run {
	b.t.Helper()
	run, err := b.store.Run(context.Background(), id)
	require.NoError(b.t, err)
	return run
}

// Each place of the program that calls the database meets a failure once. Whatever works on something goes on with it, and what people see,
// what is stored and how often agents are asked is as if nothing had failed.
func TestWorkWhileTheDatabaseFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		option func(*bundle)
		scene  func(b *bundle)
	}{
		"an answer in pieces": {func(b *bundle) { b.chat.piece = 6 }, func(b *bundle) {
			run := b.persist(in("ann", "1", "one")).Run
			b.calm()
			require.Equal(b.t, []string{"echo: ", "one"}, b.chat.texts("ann"))
			require.Equal(b.t, sessions.RunDone, b.stands(run).Status)
			require.Len(b.t, b.deliveries(ledger.DeliverySent), 1)
		}},
		"messages that are collected": {withMode(sessions.QueueCollect), func(b *bundle) {
			release := b.busy()
			b.persist(in("ann", "1", "one"))
			b.calm()
			b.persist(in("ann", "2", "two"))
			b.persist(in("ann", "3", "three"))
			release()
			b.calm()
			require.Equal(b.t, []string{"echo: one", "echo: two | three"}, b.chat.texts("ann"))
		}},
		"a message that interrupts": {withMode(sessions.QueueInterrupt), func(b *bundle) {
			release := b.busy()
			first := b.persist(in("ann", "1", "one"))
			b.calm()
			b.persist(in("ann", "2", "two"))
			b.calm()
			release()
			b.calm()
			require.Equal(b.t, sessions.RunAborted, b.stands(first.Run).Status)
			require.Equal(b.t, []string{"echo: one | two"}, b.chat.texts("ann"))
		}},
		"a run that is stopped": {nil, func(b *bundle) {
			defer b.busy()()
			run := b.persist(in("ann", "1", "one"))
			b.calm()
			require.Contains(b.t, b.persist(in("ann", "2", "/stop")).Notice, "Stopped")
			b.calm()
			require.Equal(b.t, sessions.RunAborted, b.stands(run.Run).Status)
			require.Len(b.t, b.chat.texts("ann"), 1, "the answer to the command alone")
		}},
		"orders": {nil, func(b *bundle) {
			first := b.persist(in("owner", "1", "one"))
			b.calm()
			b.persist(in("owner", "2", "tow"))
			b.calm()
			b.persist(edited(in("owner", "2", ""), 1, "two"))
			b.calm()
			require.Equal(b.t, []string{"user: one", "assistant: echo: one", "user: two", "assistant: echo: two"}, b.thread(first.Session))
			b.persist(in("owner", "3", "/retry"))
			b.calm()
			require.Len(b.t, b.thread(first.Session), 4)
			b.persist(in("owner", "4", "/branch 1"))
			b.calm()
			require.Equal(b.t, []string{"user: one", "assistant: echo: one", "user: tow", "assistant: echo: tow"}, b.thread(first.Session))
			b.persist(in("owner", "5", "/undo"))
			b.calm()
			require.Equal(b.t, []string{"user: one", "assistant: echo: one"}, b.thread(first.Session))
			require.Len(b.t, b.chat.texts("owner"), 6)
		}},
		"a call that waits for its approval": {func(b *bundle) { withKeys(b) }, func(b *bundle) {
			asking(b)
			run := b.persist(in("owner", "1", "clean up"))
			b.calm()
			p := b.onlyApproval(ledger.ApprovalPending)
			question := b.deliveries(ledger.DeliverySent)[0]
			require.Equal(b.t, 1, b.adapter.(*keyed).open(), "the question has its buttons")
			require.Contains(b.t, b.persist(b.press(question, 0, "owner")).Notice, "I will run `exec`")
			b.calm()
			want := "call_1 true "
			if b.failing.after { // it is stored that the yes is used up, and it is unknown whether the call was made
				want = "call_1 false interrupted: "
			}
			require.Contains(b.t, b.stands(run.Run).Reply, want)
			time.Sleep(8 * time.Hour) // it looks once an hour here
			require.Zero(b.t, b.adapter.(*keyed).open(), "the buttons of %s are taken off", p.ID)
		}},
		"messages that are held": {judged(t, anywhere(), asks(func(r *policy.Rule) { r.Timeout = 10 * time.Hour })), func(b *bundle) {
			b.persist(in("ann", "1", "the plan"))
			b.persist(in("bob", "1", "my plan"))
			b.persist(in("cid", "1", "our plan"))
			b.calm()
			require.Len(b.t, b.approvals(ledger.ApprovalPending), 3)
			for _, p := range b.approvals(ledger.ApprovalPending) {
				switch d := b.delivery(p.Delivery); d.Route.Conversation {
				case "chat-ann":
					b.persist(in("owner", "1", "/approve "+string(p.ID)+" allow"))
				case "chat-bob":
					b.persist(in("owner", "2", "/approve "+string(p.ID)+" deny"))
				}
			}
			b.calm()
			require.Equal(b.t, []string{"echo: the plan"}, b.chat.texts("ann"))
			require.Len(b.t, b.chat.texts("bob"), 1)
			require.Contains(b.t, b.chat.texts("bob")[0], "not allowed to send it")
			require.Empty(b.t, b.chat.texts("cid"))
			time.Sleep(20 * time.Hour)
			require.Len(b.t, b.chat.texts("cid"), 1)
			require.Contains(b.t, b.chat.texts("cid")[0], "not allowed to send it")
		}},
		"sessions whose time is over": {nil, func(b *bundle) {
			made, err := b.store.Session(context.Background(), b.persist(in("ann", "1", "one")).Session)
			require.NoError(b.t, err)
			b.calm()
			var ids []sessions.ID
			for range 3 {
				record := made
				record.ID, record.Revision = sessions.NewID(), 0
				record.Key, record.Persistent = sessions.Key("agent:main:http:"+string(record.ID)), false
				require.NoError(b.t, b.store.CommitSession(context.Background(), sessions.Change{Create: []sessions.Record{record}}))
				ids = append(ids, record.ID)
			}
			time.Sleep(5 * time.Hour)
			for _, id := range ids {
				record, err := b.store.Session(context.Background(), id)
				require.NoError(b.t, err)
				require.False(b.t, record.Ended.IsZero())
			}
		}},
		"a preview that becomes the answer": {withEdits, func(b *bundle) {
			b.agent.answer = slowly("the beginning of a long answer, and its end")
			b.persist(in("ann", "1", "one"))
			b.calm()
			require.Equal(b.t, []string{"the beginning of a long answer, and its end"}, b.chat.texts("ann"))
		}},
		"sends that are refused and lost": {nil, func(b *bundle) {
			b.chat.fail = func(out adapters.Outbound, n int) error {
				switch {
				case out.Text == "echo: bad":
					return &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: errors.New("no")}
				case n == 0:
					return &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: errors.New("later")}
				case n == 1:
					return &adapters.Failure{Kind: adapters.Transient, Err: errors.New("connection reset")}
				}
				return nil
			}
			b.persist(in("ann", "1", "one"))
			b.calm()
			b.persist(in("ann", "2", "bad"))
			b.calm()
			require.Equal(b.t, []string{"echo: one"}, b.chat.texts("ann"))
			require.Len(b.t, b.deliveries(ledger.DeliverySent), 1)
			require.Len(b.t, b.deliveries(ledger.DeliveryUnknown), 1)
			require.Len(b.t, b.deliveries(ledger.DeliveryFailed), 1)
		}},
		"answers that may not be said": {nil, func(b *bundle) {
			b.gate.forbid = func(e policy.Egress) *policy.Decision {
				if e.Kind != string(ledger.KindReply) {
					return nil
				}
				return &policy.Decision{Action: policy.Block, Reason: "no", Rules: []policy.CheckResult{{Rule: "no", Matched: true, Action: policy.Block}}}
			}
			b.persist(in("ann", "1", "one"))
			b.calm()
			require.Len(b.t, b.chat.texts("ann"), 1)
			require.Contains(b.t, b.chat.texts("ann")[0], "not allowed to send it")
			require.Len(b.t, b.deliveries(ledger.DeliveryBlocked), 1)
		}},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", stored all the same: ", after), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newBundle(t, withFailing, func(b *bundle) {
						b.failing.after = after
						b.settings.MaxRunAttempt, b.settings.RunTimeout = 100, 24*time.Hour
						if c.option != nil {
							c.option(b)
						}
					})
					b.failing.everyPlace()
					c.scene(b)
				})
			})
		}
	}
}

// What agents say to each other goes on where a call of the database has failed, and no step is taken twice.
func TestExchangesWhileTheDatabaseFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, withFailing, func(b *bundle) {
			b.settings.Exchanges.MaxTurns, b.settings.MaxRunAttempt, b.settings.RunTimeout = 3, 100, 24*time.Hour
		})
		ann, bob := k.session("ann"), k.session("bob")
		k.await(2)
		k.failing.everyPlace()
		try := func(ask func() (ledger.Exchange, error)) (x ledger.Exchange) {
			var err error
			for range 20 {
				if x, err = ask(); err == nil {
					return x
				}
			}
			require.NoError(t, err)
			return x
		}
		x := try(func() (ledger.Exchange, error) {
			return k.Exchanges().Start(t.Context(), exchange.Ask{Kind: announce.Send, Caller: caller(ann), Target: bob, Text: "how many?", Label: ann.Taint, Key: "tool/1"})
		})
		k.calm()
		require.Equal(t, announce.Announced, k.over(x.ID).Outcome)
		require.Len(t, k.heard(), 5)
		require.Equal(t, "announce 5", k.last("bob"))

		task := exchange.NewTask{Session: ann, Text: "look", Task: exchange.Task{Name: "prices"}, Route: ann.Route, Key: "1"}
		x = try(func() (ledger.Exchange, error) { return k.Exchanges().StartTask(t.Context(), task) })
		k.calm()
		require.Equal(t, announce.Announced, k.over(x.ID).Outcome)
		require.Len(t, k.heard(), 7, "the task and its announcement")
		require.Contains(t, k.last("ann"), "**Status:** success (prices)")
		require.Len(t, k.notes(ann.ID), 3, "two steps of the exchange, and the note: %s", strings.Join(k.notes(ann.ID), "; "))

		k.hold()
		task.Key, task.Text = "2", "look again"
		x = try(func() (ledger.Exchange, error) { return k.Exchanges().StartTask(t.Context(), task) })
		time.Sleep(time.Minute)
		require.Contains(t, k.persist(in("ann", "list", "/subagents")).Notice, "prices")
		require.Contains(t, k.persist(in("ann", "stop", "/subagents stop all")).Notice, "Stopped all sub-agents of this conversation.")
		k.calm()
		require.Equal(t, announce.Stopped, k.over(x.ID).Outcome)
		require.Equal(t, sessions.RunAborted, k.stands(x.First).Status)
	})
}

// Rows are taken over though a call of the database fails: the bus is told so and asks again.
func TestAcquireWhileTheDatabaseFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withFailing)
		release := b.busy()
		runs := make([]inbound.Admitted, 6)
		for i := range runs {
			runs[i] = b.hear(in(fmt.Sprint("ann", i), "1", "one"))
		}
		synctest.Wait()
		for p := range partitions {
			b.Owner().Release(t.Context(), p)
		}
		require.NoError(t, b.store.CommitSession(t.Context(), sessions.Change{Abort: []sessions.Abort{{Session: runs[0].Session, At: time.Now()}}}))
		release()
		b.failing.everyPlace()
		for p := range partitions {
			for tries := 0; acquired(b.Owner(), p) != nil; tries++ {
				require.Less(t, tries, 60)
			}
		}
		b.calm()
		require.Equal(t, sessions.RunAborted, b.stands(runs[0].Run).Status)
		for _, run := range runs[1:] {
			require.Equal(t, sessions.RunDone, b.stands(run.Run).Status)
		}
	})
}
