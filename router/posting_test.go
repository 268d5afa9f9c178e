package router_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// scripted is a chat whose calls a test decides about: each gives what its function gives, and shows a message only where that is nil.
type scripted struct {
	editable
	send func(ctx context.Context, out adapters.Outbound) error
	edit func(n int) error
	find func(sentAt time.Time) (bool, error)

	edits int
}

// scripts makes a bundle's chat a scripted one.
func scripts(b *bundle) *scripted {
	s := &scripted{editable: editable{b.chat}}
	s.send = func(context.Context, adapters.Outbound) error { return nil }
	s.edit = func(int) error { return nil }
	b.adapter = s
	return s
}

func (s *scripted) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	if err := s.send(ctx, out); err != nil {
		return adapters.Receipt{}, err
	}
	return s.editable.Send(ctx, out)
}

func (s *scripted) Edit(ctx context.Context, id sessions.PlatformMessageID, out adapters.Outbound) error {
	s.edits++
	if err := s.edit(s.edits); err != nil {
		return err
	}
	return s.editable.Edit(ctx, id, out)
}

// askable is a scripted chat that can be asked for a message.
type askable struct{ *scripted }

func (a askable) Reconcile(_ context.Context, _ adapters.Outbound, sentAt time.Time) (adapters.Receipt, bool, error) {
	found, err := a.find(sentAt)
	return adapters.Receipt{MessageID: "found", At: sentAt}, found, err
}

var errReset = errors.New("connection reset")

func lostCall() error { return &adapters.Failure{Kind: adapters.Transient, Err: errReset} }

// What was certainly not sent when its partition went is queued again at once, as if it had not been tried.
func TestSendThatIsCutOffIsHandedBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		s := scripts(b)
		s.send = func(ctx context.Context, _ adapters.Outbound) error {
			<-ctx.Done()
			return &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: ctx.Err()}
		}
		b.hear(in("ann", "1", "one"))
		synctest.Wait()
		require.Len(t, b.deliveries(ledger.DeliverySending), 1)
		for p := range partitions {
			b.Owner().Release(t.Context(), p)
		}
		waiting := b.deliveries(ledger.DeliveryQueued)
		require.Len(t, waiting, 1)
		require.Zero(t, waiting[0].Attempts)
		require.Empty(t, waiting[0].LastError)
		s.send = func(context.Context, adapters.Outbound) error { return nil }
		for p := range partitions {
			acquire(t, b.Owner(), p)
		}
		synctest.Wait()
		require.Equal(t, []string{"echo: one"}, b.chat.texts("ann"))
	})
}

// Who waits for nothing but time does not hold up the end of a partition.
func TestReleaseEndsWaitsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			b.chat.fail = failFirst(1, adapters.Failure{Kind: adapters.RateLimited, RetryAfter: time.Hour, Certain: true, Err: errReset})
		})
		b.hear(in("ann", "1", "one"))
		time.Sleep(time.Minute)
		began := time.Now()
		for p := range partitions {
			b.Owner().Release(t.Context(), p)
		}
		require.Zero(t, time.Since(began))
	})
}

// An edit that may have been made is made again: it shows the same text once, so nothing about it is unknown.
func TestEditWhoseAnswerIsLostIsMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		s := scripts(b)
		s.edit = func(n int) error {
			if n == 1 {
				return lostCall()
			}
			return nil
		}
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
			time.Sleep(600 * time.Millisecond) // one preview, and no edit of it
			return "the whole answer", nil
		}
		b.hear(in("ann", "1", "one"))
		time.Sleep(time.Minute)
		require.Equal(t, []string{"the whole answer"}, b.chat.texts("ann"))
		require.Empty(t, b.deliveries(ledger.DeliveryUnknown))
		sent := b.deliveries(ledger.DeliverySent)
		require.Len(t, sent, 1)
		require.Equal(t, 1, sent[0].Attempts)
	})
}

// If somebody has deleted a preview, the answer is sent at once as a new message.
func TestAnswerWhosePreviewIsGoneIsSentAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		s := scripts(b)
		s.edit = func(int) error {
			return &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: errors.New("message to edit not found")}
		}
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
			time.Sleep(600 * time.Millisecond)
			return "the whole answer", nil
		}
		run := b.hear(in("ann", "1", "one"))
		b.ended(run.Run)
		synctest.Wait()
		require.Equal(t, []string{"the beginning of a long answer", "the whole answer"}, b.chat.texts("ann"))
		sent := b.deliveries(ledger.DeliverySent)
		require.Len(t, sent, 1)
		require.Zero(t, sent[0].Attempts)
	})
}

// The platform is asked for each piece from the moment on at which that piece was sent, and not from that of the first.
func TestEachPieceIsLookedUpFromItsOwnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.chat.piece = 6 })
		s := scripts(b)
		b.adapter = askable{s}
		var second time.Time
		s.send = func(_ context.Context, out adapters.Outbound) error {
			if out.Part == 0 {
				time.Sleep(10 * time.Second)
				return nil
			}
			second = time.Now()
			return lostCall()
		}
		var asked []time.Time
		s.find = func(sentAt time.Time) (bool, error) {
			asked = append(asked, sentAt)
			return true, nil
		}
		b.hear(in("ann", "1", "one"))
		time.Sleep(time.Minute)
		require.Len(t, b.deliveries(ledger.DeliverySent), 1)
		require.Len(t, asked, 1)
		require.WithinDuration(t, second, asked[0], time.Millisecond)
	})
}

// A look that the platform can't make, for a preview that may show: that is counted once, and the answer is a message of its own.
func TestPreviewThatCanNotBeLookedUpIsCountedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		s := scripts(b)
		b.adapter = askable{s}
		s.send = func(_ context.Context, out adapters.Outbound) error {
			if out.Text == "the beginning of a long answer" {
				return lostCall()
			}
			return nil
		}
		s.find = func(time.Time) (bool, error) {
			return false, &adapters.Failure{Kind: adapters.Unsupported, Certain: true, Err: errors.New("private")}
		}
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
			time.Sleep(time.Second)
			return "the whole answer", nil
		}
		b.ended(b.hear(in("ann", "1", "one")).Run)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"the whole answer"}, b.chat.texts("ann"))
		unknown := b.deliveries(ledger.DeliveryUnknown)
		require.Len(t, unknown, 1)
		require.Equal(t, "the beginning of a long answer", unknown[0].Text)
		require.Equal(t, 1, b.gathered("sluice_router_deliveries_total", "unknown"))
	})
}

// gathered is the sum of a metric's counters that have a label of that value.
func (b *bundle) gathered(name, value string) (sum int) {
	b.t.Helper()
	families, err := b.registry.Gather()
	require.NoError(b.t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetValue() == value {
					sum += int(m.GetCounter().GetValue())
				}
			}
		}
	}
	return sum
}

// What agents say to each other is shown to nobody while it is written.
func TestStepsAreNotShownWhileTheyAreWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann, bob := k.session("ann"), k.session("bob")
		k.agent.work, k.agent.answer = nil, func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "a word between us"})
			time.Sleep(time.Second)
			return "a word between us", nil
		}
		x := k.ask(ann, bob, "how many?")
		k.over(x.ID)
		synctest.Wait()
		require.NotContains(t, k.bus.seen(x.First), sessions.EventDelta)
		k.bus.mu.Lock()
		defer k.bus.mu.Unlock()
		for _, e := range k.bus.events {
			require.NotEqual(t, sessions.EventDelta, e.Type)
		}
	})
}

// An exchange that is stopped stays as it was then, though the step at work comes to its end afterwards.
func TestAStoppedExchangeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann, bob := k.session("ann"), k.session("bob")
		held := make(chan struct{})
		k.agent.work = func(ctx context.Context, s *sessions.Session, run *sessions.Run) (string, error) {
			<-held
			return k.work(ctx, s, run)
		}
		x := k.ask(ann, bob, "how many?")
		synctest.Wait()
		require.NoError(t, k.AbortSession(t.Context(), bob.ID, "operator"))
		stopped, err := k.store.Exchange(t.Context(), x.ID)
		require.NoError(t, err)
		require.Equal(t, announce.Stopped, stopped.Outcome)
		close(held)
		k.ended(x.First)
		synctest.Wait()
		after, err := k.store.Exchange(t.Context(), x.ID)
		require.NoError(t, err)
		require.Equal(t, stopped, after)
		require.Len(t, k.chat.texts("bob"), 1)
	})
}

// A limit of 0 does not limit the queue. Commands that change the thread are accepted although the queue is full.
func TestWhatTheQueueBoundIsFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.Queue.Cap = 0 })
		release := b.busy()
		for i := range 30 {
			require.Equal(t, ledger.OutcomeRun, b.hear(in("ann", fmt.Sprint(i), "hi")).Outcome)
			synctest.Wait()
		}
		release()
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 30)
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.Queue.Cap, b.settings.Queue.DropNew = 1, true })
		b.ended(b.hear(in("ann", "0", "zero")).Run)
		release := b.busy()
		b.hear(in("ann", "1", "one"))
		synctest.Wait()
		require.Equal(t, ledger.OutcomeRun, b.hear(in("ann", "2", "two")).Outcome)
		require.Equal(t, ledger.OutcomeIgnored, b.hear(in("ann", "3", "three")).Outcome)
		undo := b.hear(in("ann", "4", "/undo"))
		require.Equal(t, ledger.OutcomeRun, undo.Outcome, "it makes no answer that the bound is for")
		require.Equal(t, ledger.OutcomeIgnored, b.hear(in("ann", "5", "/retry")).Outcome)
		release()
		require.Equal(t, sessions.RunDone, b.ended(undo.Run).Status)
	})
}

// Others who change the same over and over are told of in the end.
func TestConflictsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &dying{}
		b := newBundle(t, func(b *bundle) { b.dying = d })
		run := b.hear(in("owner", "1", "one"))
		synctest.Wait()
		for name, ask := range map[string]func(context.Context) error{
			"stop":  func(ctx context.Context) error { return b.AbortSession(ctx, run.Session, "operator") },
			"admit": func(ctx context.Context) error { return b.Intake.Accept(ctx, in("owner", "2", "two")) },
			"learn": func(ctx context.Context) error {
				return b.Learn(ctx, run.Session, flow.NewLabel(flow.Internal, flow.Trusted), "operator")
			},
			"main": func(ctx context.Context) error {
				_, err := b.MainSession(ctx, sessions.MainAlias)
				return err
			},
		} {
			d.mu.Lock()
			d.busy = 1000
			d.mu.Unlock()
			require.ErrorIs(t, ask(t.Context()), sessions.ErrConflict, name)
			d.mu.Lock()
			require.Equal(t, 1000-5, d.busy, "%s is tried so often", name)
			d.busy = 4
			d.mu.Unlock()
			require.NoError(t, ask(t.Context()), name)
			synctest.Wait() // what follows from it commits, too
		}
		d.mu.Lock()
		d.busy = 0
		d.mu.Unlock()
		_, err := b.Approvals.DecideApproval(t.Context(), "apr_none", decider.Verdict{Actor: "test:owner", Owner: true})
		require.ErrorIs(t, err, sessions.ErrNotFound)
	})
}

// A file whose row can't be read is read again soon, and the message that it belongs to is not forgotten in the meantime.
func TestMessageWithAFileThatCanNotBeReadYet(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]func(*bundle){
		"on a channel that takes no files": func(*bundle) {},
		"on one that does":                 func(b *bundle) { b.adapter = &rich{chat: b.chat} },
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBundle(t, withFailing, option)
			b.failing.everyPlace()
			p := outbound.Proactive{Channel: "test", To: "ann", Text: "here", Idempotency: "once", Files: []outbound.NewFile{{Name: "a.txt", Content: []byte("abc")}}}
			require.Eventually(t, func() bool {
				_, err := b.Sender.Send(t.Context(), p)
				return err == nil
			}, time.Minute, time.Millisecond, name)
			time.Sleep(10 * time.Minute) // nobody looks for lost wakes so soon
			sent := b.deliveries(ledger.DeliverySent)
			require.Len(t, sent, 1, name)
			require.Contains(t, b.chat.texts("")[0], "here")
		})
	}
}
