package router_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router"
	"sluice/router/ledger"
	"sluice/sessions"
)

// rival is a second replica on the same store.
func (b *bundle) rival(t *testing.T, chat adapters.Adapter) *router.Router {
	t.Helper()
	bus := &localBus{}
	agent := &scriptedAgent{store: b.store, answer: echo}
	r, err := router.New(router.Config{
		Store: ledger.NewStore(b.store), Bus: bus, Models: agent, Gate: b.gate, Monitor: b.monitor(), Settings: b.settings,
		Adapters:   func(string, string) (adapters.Adapter, bool) { return chat, true },
		Partitions: partitions, Replica: "rival", Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	require.NoError(t, err)
	r.SetAgent(agent)
	r.Start()
	bus.own(t, r.Owner())
	t.Cleanup(func() { r.Stop(context.Background()) })
	return r
}

// An owner that lost its partition without knowing finishes its run without success: the new owner's answer is the only one.
func TestStaleOwnerWritesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		release := b.busy()
		run := b.hear(in("ann", "1", "hi"))
		synctest.Wait()
		other := newChat()
		rival := b.rival(t, other)
		got, err := rival.Sessions().WaitRun(t.Context(), run.Run, time.Minute)
		require.NoError(t, err)
		require.Equal(t, sessions.RunDone, got.Status)
		require.Equal(t, 2, got.Attempts)
		release()
		time.Sleep(time.Minute)
		require.Equal(t, []string{"echo: hi"}, other.texts("ann"))
		require.Empty(t, b.chat.texts(""), "the stale owner says nothing")
	})
}

// A delivery that was being sent when its owner died may have arrived: it becomes unknown and is repeated once.
func TestSendingAtDeathIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		held := make(chan struct{})
		b.adapter = stuck{b.chat, held}
		b.hear(in("ann", "1", "hi"))
		b.await(1)
		other := newChat()
		b.rival(t, other)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"echo: hi"}, other.texts("ann"))
		require.Len(t, b.deliveries(ledger.DeliveryUnknown), 1)
		require.Len(t, b.deliveries(ledger.DeliverySent), 1)
		close(held)
		time.Sleep(time.Minute)
		require.Len(t, b.chat.texts("ann"), 1)
	})
}

// stuck shows a message and then does not answer.
type stuck struct {
	*chat
	held chan struct{}
}

func (s stuck) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	receipt, err := s.chat.Send(ctx, out)
	<-s.held
	return receipt, err
}

// A message that is sent again stays before those that were said after it.
func TestResendKeepsItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.settings.Queue.Mode = sessions.QueueFollowup
		held := make(chan struct{})
		b.adapter = stuck{b.chat, held}
		b.hear(in("ann", "1", "one"))
		b.await(1)
		b.hear(in("ann", "2", "two"))
		synctest.Wait()
		other := newChat()
		b.rival(t, other)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"echo: one", "echo: two"}, other.texts("ann"))
		close(held)
		time.Sleep(time.Minute)
	})
}

// A preview whose answer was lost may show: it is counted as unknown, and the answer is a message of its own.
func TestLostPreviewIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withEdits)
		b.chat.fail = func(out adapters.Outbound, n int) error {
			if n > 0 {
				return nil
			}
			b.chat.show(out)
			return &adapters.Failure{Kind: adapters.Transient, Err: errors.New("connection reset")}
		}
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
			time.Sleep(10 * time.Second)
			return "the whole answer", nil
		}
		run := b.hear(in("ann", "1", "slowly please"))
		b.await(2)
		require.Equal(t, sessions.RunDone, b.ended(run.Run).Status)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"the beginning of a long answer", "the whole answer"}, b.chat.texts("ann"))
		require.Len(t, b.deliveries(ledger.DeliveryUnknown), 1)
		require.Len(t, b.deliveries(ledger.DeliverySent), 1)
	})
}
