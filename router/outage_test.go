package router_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/engine"
	"sluice/store/storetest"
)

// away is a database that goes away and comes back, under a process that lives on.
type away struct {
	*store.DB
	gone  atomic.Bool
	after atomic.Bool // the commit at which it goes is stored, and nobody hears of it
}

var errAway = &engine.Unavailable{Reason: "PostgreSQL can't be reached"}

func (a *away) Commit(ctx context.Context, c ledger.Change) error {
	if a.after.CompareAndSwap(true, false) {
		a.gone.Store(true)
		return errors.Join(errAway, a.DB.Commit(ctx, c))
	}
	if a.gone.Load() {
		return errAway
	}
	return a.DB.Commit(ctx, c)
}

func (a *away) CommitSession(ctx context.Context, c sessions.Change) error {
	return a.Commit(ctx, ledger.Change{Change: c})
}

func (a *away) TakePartition(ctx context.Context, p int, owner string, epoch int64) (int64, error) {
	if a.gone.Load() {
		return 0, errAway
	}
	return a.DB.TakePartition(ctx, p, owner, epoch)
}

func (a *away) LaneDeliveries(ctx context.Context, lane sessions.Lane, limit int) ([]ledger.Delivery, error) {
	if a.gone.Load() {
		return nil, errAway
	}
	return a.DB.LaneDeliveries(ctx, lane, limit)
}

func (a *away) RunDelivery(ctx context.Context, run sessions.RunID) (ledger.Delivery, error) {
	if a.gone.Load() {
		return ledger.Delivery{}, errAway
	}
	return a.DB.RunDelivery(ctx, run)
}

// withAway is a bundle whose database can go.
func withAway(b *bundle) { b.away = &away{} }

// falling is a chat that takes the database away as soon as it has taken a message.
type falling struct {
	*chat
	db    *away
	falls func(adapters.Outbound) bool
}

func (f falling) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	r, err := f.chat.Send(ctx, out)
	if f.falls(out) {
		f.db.gone.Store(true)
	}
	return r, err
}

func (b *bundle) sentOnce(texts ...string) {
	b.t.Helper()
	synctest.Wait()
	require.Equal(b.t, texts, b.chat.texts("ann"))
	rows, err := b.store.ListDeliveries(context.Background(), ledger.Query{MaxLevel: flow.Restricted})
	require.NoError(b.t, err)
	for _, d := range rows {
		require.Equal(b.t, ledger.DeliverySent, d.Status, "%s: %s", d.Text, d.LastError)
	}
}

// A process that has a receipt in hand keeps it until it is stored, also where it loses the partition in the meantime.
func TestReceiptIsKeptWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(b *bundle){
		"it owns the lane all the time": func(*bundle) {},
		"it loses the partitions and has them again": func(b *bundle) {
			for p := range partitions {
				b.Owner().Release(context.Background(), p)
			}
			b.away.gone.Store(false)
			for p := range partitions {
				acquire(b.t, b.Owner(), p)
			}
		},
		"another owner has taken them": func(b *bundle) {
			for p := range partitions {
				storetest.Take(b.t, b.away.DB, p, "other")
			}
			b.away.gone.Store(false)
			time.Sleep(time.Minute)
			for p := range partitions {
				b.Owner().Release(context.Background(), p)
				acquire(b.t, b.Owner(), p)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, withAway)
				b.chat.piece = 6
				b.adapter = falling{b.chat, b.away, func(out adapters.Outbound) bool { return out.Part == 0 }}
				b.hear(in("ann", "1", "one"))
				time.Sleep(time.Minute)
				require.Len(t, b.chat.texts("ann"), 1)
				meanwhile(b)
				b.away.gone.Store(false)
				time.Sleep(time.Minute)
				b.sentOnce("echo: ", "one")
			})
		})
	}
}

// A process stores a receipt also where its partition has gone to another process for good: that one would look the message up, or send
// it again where the platform can't be asked.
func TestReceiptOfALostPartitionIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withAway)
		b.adapter = falling{b.chat, b.away, func(adapters.Outbound) bool { return true }}
		b.hear(in("ann", "1", "one"))
		time.Sleep(time.Minute)
		for p := range partitions {
			b.Owner().Release(context.Background(), p)
		}
		b.away.gone.Store(false)
		time.Sleep(2 * time.Second)
		b.sentOnce("echo: one")
		for p := range partitions {
			acquire(t, b.Owner(), p)
		}
	})
}

// What a process could not store before its end it writes down.
func TestReceiptIsWrittenDownAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		b := newBundle(t, withAway, func(b *bundle) { b.log = slog.New(slog.NewTextHandler(&said, nil)) })
		b.adapter = falling{b.chat, b.away, func(adapters.Outbound) bool { return true }}
		b.hear(in("ann", "1", "one"))
		time.Sleep(time.Minute)
		b.stop()
		require.Contains(t, said.String(), "could not be stored before the process ended")
		require.Regexp(t, `conversation=chat-ann .*messages=\[1\]`, said.String())
		b.away.gone.Store(false)
		b.start()
	})
}

// A preview that shows is known to show, though its receipt could not be stored: the answer takes its place.
func TestPreviewIsKeptWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]time.Duration{"back before the answer": 5 * time.Second, "back after it": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, withAway)
				b.adapter = editableFalling{falling{b.chat, b.away, func(out adapters.Outbound) bool { return out.Text == "the beginning of a long answer" }}, editable{b.chat}}
				answers := 0
				b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
					answers++
					emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
					time.Sleep(10 * time.Second)
					return "the beginning of a long answer, and its end", nil
				}
				b.hear(in("ann", "1", "one"))
				time.Sleep(back)
				require.Len(t, b.chat.texts("ann"), 1)
				b.away.gone.Store(false)
				time.Sleep(time.Minute)
				b.sentOnce("the beginning of a long answer, and its end")
				require.Equal(t, 1, answers, "the model is asked once")
			})
		})
	}
}

// An answer whose end could not be stored for certain is not worked again, and a preview that was only meant leaves no row behind.
func TestAnswerIsKeptWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]bool{"not stored": false, "stored, and nobody heard": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, withAway)
				b.adapter = editable{b.chat}
				answers := 0
				b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
					answers++
					b.away.after.Store(stored)
					b.away.gone.Store(!stored)
					emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
					time.Sleep(10 * time.Second)
					return "the answer", nil
				}
				b.hear(in("ann", "1", "one"))
				time.Sleep(time.Minute)
				b.away.gone.Store(false)
				time.Sleep(time.Minute)
				b.sentOnce("the answer")
				require.Equal(t, 1, answers)
			})
		})
	}
}

type editableFalling struct {
	falling
	e editable
}

func (c editableFalling) Edit(ctx context.Context, id sessions.PlatformMessageID, out adapters.Outbound) error {
	return c.e.Edit(ctx, id, out)
}
func (c editableFalling) PreviewEvery() time.Duration { return time.Second }
