package router_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
	"sluice/store/storetest"
)

// A wait that the platform asked for may be longer than the delivery's life. It
// then expires at its time, and nobody asks the database over and over until the wait is over.
func TestWaitLongerThanLifeExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.DeliveryLife = time.Hour })
		b.chat.fail = failFirst(1, adapters.Failure{Kind: adapters.RateLimited, RetryAfter: 3 * time.Hour, Certain: true})
		b.hear(in("ann", "1", "hi"))
		time.Sleep(time.Minute)
		b.Owner().Rescan(0)
		b.Owner().Rescan(1)
		b.Owner().Rescan(2)
		b.Owner().Rescan(3)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, b.deliveries(ledger.DeliveryExpired), 1)
	})
}

// A preview that a new owner has taken over is discarded with an answer that says nothing,
// whatever the epochs of the session's and the conversation's partitions are.
func TestAdoptedPreviewOfASilentAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withEdits)
		b.agent.answer = func(ctx context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
			<-ctx.Done()
			return "", ctx.Err()
		}
		var runs []sessions.RunID
		for _, who := range []string{"ann", "bob", "cid", "dan", "eve"} {
			runs = append(runs, b.hear(in(who, "1", "slowly please")).Run)
		}
		b.await(len(runs))
		synctest.Wait()
		b.stop()
		for p := range partitions { // they have had different numbers of owners
			for range p * 3 {
				storetest.Take(t, b.store, p, "other")
			}
		}
		var asked atomic.Int32
		b.agent.answer = func(context.Context, string, func(sessions.Event)) (string, error) {
			asked.Add(1)
			return "NO_REPLY", nil
		}
		b.start()
		time.Sleep(time.Minute)
		for _, run := range runs {
			got, err := b.store.Run(t.Context(), run)
			require.NoError(t, err)
			require.Equal(t, sessions.RunDone, got.Status)
		}
		require.EqualValues(t, len(runs), asked.Load())
	})
}

// A stop that comes while nobody listens is heard by the one who takes the run up.
func TestStopSurvivesAHandover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.agent.answer = func(ctx context.Context, _ string, _ func(sessions.Event)) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		run := b.hear(in("ann", "1", "work"))
		synctest.Wait()
		b.stop()
		require.NoError(t, b.store.CommitSession(t.Context(), sessions.Change{Abort: []sessions.Abort{{Session: run.Session, At: time.Now()}}}))
		b.agent.answer = echo
		b.start()
		require.Equal(t, sessions.RunAborted, b.ended(run.Run).Status)
		require.Empty(t, b.chat.texts("ann"))
	})
}

// A stop whose wake was lost is heard when the rows are looked at again.
func TestStopWithALostWakeIsHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.agent.answer = func(ctx context.Context, _ string, _ func(sessions.Event)) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		run := b.hear(in("ann", "1", "work"))
		synctest.Wait()
		require.NoError(t, b.store.CommitSession(t.Context(), sessions.Change{Abort: []sessions.Abort{{Session: run.Session, At: time.Now()}}}))
		for p := range partitions {
			b.Owner().Rescan(p)
		}
		time.Sleep(time.Second)
		got, err := b.store.Run(t.Context(), run.Run)
		require.NoError(t, err)
		require.Equal(t, sessions.RunAborted, got.Status)
	})
}

// A database that is unavailable for a while ends no run: it is continued.
func TestStoreOutageEndsNoRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		first := true
		b.agent.answer = func(_ context.Context, text string, _ func(sessions.Event)) (string, error) {
			if first {
				first = false
				return "", &engine.Unavailable{Reason: "the disk is full", Err: errors.New("13")}
			}
			return "echo: " + text, nil
		}
		run := b.hear(in("ann", "1", "hi"))
		require.Equal(t, sessions.RunDone, b.ended(run.Run).Status)
		b.await(1)
		require.Equal(t, []string{"echo: hi"}, b.chat.texts("ann"))
	})
}

// brittle breaks on some texts, as a renderer may.
type brittle struct{ editable }

func (b brittle) Split(text string) []string {
	if text == "text that nothing can render" {
		panic("renderer")
	}
	return b.editable.Split(text)
}

// A fault in showing a preview must not end the process.
func TestPanicInPreviewIsContained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.adapter = brittle{editable{b.chat}}
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "text that nothing can render"})
			time.Sleep(10 * time.Second)
			return "the whole answer", nil
		}
		run := b.hear(in("ann", "1", "hi"))
		require.Equal(t, sessions.RunDone, b.ended(run.Run).Status)
		b.await(1)
		require.Equal(t, []string{"the whole answer"}, b.chat.texts("ann"))
	})
}

// A preview does not overtake what waits in its conversation.
func TestPreviewWaitsForWhatWasSaidBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withEdits)
		b.chat.fail = failFirst(1, adapters.Failure{Kind: adapters.RateLimited, RetryAfter: 20 * time.Second, Certain: true})
		b.hear(in("ann", "1", "one"))
		synctest.Wait()
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
			time.Sleep(10 * time.Second)
			return "two", nil
		}
		b.hear(in("ann", "2", "two"))
		time.Sleep(time.Minute)
		require.Equal(t, []string{"echo: one", "two"}, b.chat.texts("ann"))
	})
}

// A worker's panic leaves nothing of its half-done work in memory.
func TestPanicLeavesNoTrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withEdits)
		first := true
		b.agent.answer = func(_ context.Context, _ string, _ func(sessions.Event)) (string, error) {
			if first {
				first = false
				time.Sleep(time.Second)
				panic("once")
			}
			return "fine", nil
		}
		run := b.hear(in("ann", "1", "hi"))
		require.Equal(t, sessions.RunDone, b.ended(run.Run).Status)
		b.await(1)
		typing := func() int {
			b.chat.mu.Lock()
			defer b.chat.mu.Unlock()
			return b.chat.typing
		}
		before := typing()
		time.Sleep(time.Hour)
		require.Equal(t, before, typing(), "nobody types any more")
	})
}

// What a worker had only in memory when its work broke off is not continued, however it broke off.
func TestHalfDoneWorkIsForgotten(t *testing.T) {
	t.Parallel()
	for name, breakOff := range map[string]func() error{
		"panic":      func() error { panic("once") },
		"store away": func() error { return sessions.ErrUnavailable },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				tries := 0
				b.agent.begin = func(s *sessions.Session) {
					if tries++; tries == 1 {
						s.Append(sessions.Message{Role: sessions.RoleAssistant, Parts: []sessions.Part{sessions.TextPart("half a", s.Taint())}})
					}
				}
				b.agent.answer = func(context.Context, string, func(sessions.Event)) (string, error) {
					if tries == 1 {
						return "", breakOff()
					}
					return "a whole answer", nil
				}
				run := b.hear(in("ann", "1", "hi"))
				b.await(1)
				record, err := b.store.Session(t.Context(), run.Session)
				require.NoError(t, err)
				thread, err := b.store.Thread(t.Context(), record)
				require.NoError(t, err)
				require.Len(t, thread, 2)
				require.Equal(t, "a whole answer", thread[1].Text())
			})
		})
	}
}

// A settings change that is made while a run works outlives the run's end.
func TestTitleSurvivesTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		run := b.hear(in("ann", "1", "hi"))
		b.ended(run.Run)
		title := "Ann's"
		_, err := b.PatchSession(t.Context(), sessions.Patch{ID: run.Session, Title: new(flow.NewText(title, flow.Bottom()))}, "operator")
		require.NoError(t, err)
		again := b.hear(in("ann", "2", "hi"))
		b.ended(again.Run)
		record, err := b.store.Session(t.Context(), run.Session)
		require.NoError(t, err)
		require.Equal(t, title, record.Title.Raw())
	})
}

// deleted is a chat in which somebody deletes each preview before the answer is ready, and whose
// process ends in the moment when the answer was sent instead.
type deleted struct {
	editable
	held chan struct{}
	ends chan struct{}
}

func (d deleted) Edit(context.Context, sessions.PlatformMessageID, adapters.Outbound) error {
	return &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: errors.New("message to edit not found")}
}

func (d deleted) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	receipt, err := d.editable.Send(ctx, out)
	if out.Text == "the whole answer" {
		close(d.ends)
		<-d.held
	}
	return receipt, err
}

// An answer that was sent because its preview had gone may have arrived when the process died: that is counted.
func TestSentInsteadOfItsPreviewIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		d := deleted{editable{b.chat}, make(chan struct{}), make(chan struct{})}
		b.adapter = d
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
			time.Sleep(10 * time.Second)
			return "the whole answer", nil
		}
		b.hear(in("ann", "1", "hi"))
		<-d.ends
		other := newChat()
		b.rival(t, editable{other})
		time.Sleep(time.Minute)
		require.Equal(t, []string{"the whole answer"}, other.texts("ann"))
		require.Len(t, b.deliveries(ledger.DeliveryUnknown), 1)
		close(d.held)
		time.Sleep(time.Minute)
	})
}

// A poisonous run leaves no open tool call behind, which would make every later request invalid.
func TestPoisonLeavesNoOpenToolCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		run := b.hear(in("ann", "1", "hi"))
		b.ended(run.Run)
		b.agent.answer = func(ctx context.Context, _ string, _ func(sessions.Event)) (string, error) {
			record, err := b.store.Session(ctx, run.Session)
			require.NoError(t, err)
			s, err := sessions.LoadSession(ctx, b.store, record, time.Now)
			require.NoError(t, err)
			if len(s.PendingToolCalls()) == 0 {
				s.Append(sessions.Message{Role: sessions.RoleAssistant, Parts: []sessions.Part{{Type: sessions.PartToolCall, CallID: "1", Tool: "bomb"}}})
				require.NoError(t, s.Persist(ctx))
			}
			panic("bomb")
		}
		poison := b.hear(in("ann", "2", "boom"))
		require.Equal(t, sessions.RunFailed, b.ended(poison.Run).Status)
		record, err := b.store.Session(t.Context(), run.Session)
		require.NoError(t, err)
		thread, err := b.store.Thread(t.Context(), record)
		require.NoError(t, err)
		require.Equal(t, sessions.RoleToolResult, thread[len(thread)-1].Role)
	})
}

// A session whose rows can't be read is told of; a store that is unavailable is waited for.
func TestSessionThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want sessions.RunStatus
	}{
		"broken rows": {errors.New("unexpected end of JSON input"), sessions.RunFailed},
		"store away":  {&engine.Unavailable{Reason: "no connection"}, sessions.RunQueued},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, func(b *bundle) { b.agent.broken = c.err })
				run := b.hear(in("ann", "1", "hi"))
				time.Sleep(time.Hour)
				got, err := b.store.Run(t.Context(), run.Run)
				require.NoError(t, err)
				require.Equal(t, c.want, got.Status)
			})
		})
	}
}
