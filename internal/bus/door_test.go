package bus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/internal/bus"
	"sluice/internal/freeport"
)

const readerToken = "the-token-of-readers"

// listening starts an embedded bus that readers can connect to.
func listening(t *testing.T) (*bus.Bus, *owner, string) {
	t.Helper()
	addr, err := freeport.Addr()
	require.NoError(t, err)
	b, err := bus.Start(t.Context(), bus.Config{
		Dir: t.TempDir(), Listen: addr, Reader: func() string { return readerToken }, Partitions: partitions, Replica: "one", Now: time.Now,
		Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { b.Stop(context.Background()) })
	o := newOwner("one", &board{owners: map[int]map[string]bool{}})
	require.NoError(t, b.Own(t.Context(), o))
	return b, o, "nats://" + addr
}

// An embedded server that listens admits only who has the token.
func TestReadersNeedTheToken(t *testing.T) {
	t.Parallel()
	_, _, url := listening(t)
	for name, option := range map[string]nats.Option{
		"nothing": nats.Name("nobody"), "a wrong token": nats.Token("wrong"), "a wrong password": nats.UserInfo("gateway", "wrong"),
		"an empty password": nats.UserInfo("gateway", ""), "the user's name alone": nats.UserInfo("reader", "reader"),
	} {
		_, err := nats.Connect(url, option)
		require.ErrorIs(t, err, nats.ErrAuthorization, name)
	}
	for name, option := range map[string]nats.Option{"a token": nats.Token(readerToken), "a password": nats.UserInfo("operator", readerToken)} {
		conn, err := nats.Connect(url, option)
		require.NoError(t, err, name)
		conn.Close()
	}
}

// Readers are disconnected when their password changes, and let in with the new one.
func TestReadersLeaveWithTheirToken(t *testing.T) {
	t.Parallel()
	addr, err := freeport.Addr()
	require.NoError(t, err)
	var token atomic.Value
	token.Store(readerToken)
	b, err := bus.Start(t.Context(), bus.Config{
		Dir: t.TempDir(), Listen: addr, Reader: func() string { return token.Load().(string) }, Partitions: partitions, Replica: "one", Now: time.Now, //nolint:forcetypeassert // it is a text
		Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { b.Stop(context.Background()) })
	closed := make(chan struct{}, 2)
	dial := func(as nats.Option) *nats.Conn {
		conn, err := nats.Connect("nats://"+addr, as, nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { closed <- struct{}{} }))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		return conn
	}
	first, second := dial(nats.Token(readerToken)), dial(nats.UserInfo("gateway", readerToken))
	b.Agents.Recheck()
	require.NoError(t, errors.Join(first.Flush(), second.Flush()))
	token.Store("another-token-of-readers")
	b.Agents.Recheck()
	receive(t, closed)
	receive(t, closed)
	third := dial(nats.Token("another-token-of-readers"))
	b.Agents.Recheck()
	require.NoError(t, errors.Join(third.Flush(), b.Ready()))
}

// A reader sees each step once, and can neither take one, nor publish, nor change a stream.
func TestReadersOnlyRead(t *testing.T) {
	t.Parallel()
	b, o, url := listening(t)
	denied := make(chan error, 100)
	conn, err := nats.Connect(url, nats.Token(readerToken), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	seen := make(chan *nats.Msg, 10)
	_, err = conn.ChanSubscribe("sluice.steps.*", seen)
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	for i := range 3 {
		b.PublishStep(2, fmt.Sprint(i), fmt.Append(nil, "step ", i))
		require.Equal(t, fmt.Sprint("step ", i), string(receive(t, seen).Data))
		require.Equal(t, fmt.Sprint("step ", i), receive(t, o.steps).text)
	}

	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "SLUICE_STEPS")
	require.NoError(t, err, "it may look at the stream")
	require.EqualValues(t, 3, stream.CachedInfo().State.Msgs)
	for _, subject := range []string{
		"sluice.steps.2", "sluice.wake.2", "sluice.members", "sluice.events.sess_1", "$JS.API.CONSUMER.DELETE.SLUICE_STEPS.partition-2",
		"$JS.API.CONSUMER.MSG.NEXT.SLUICE_STEPS.partition-2", "$JS.API.CONSUMER.CREATE.SLUICE_STEPS", "$JS.API.STREAM.DELETE.SLUICE_STEPS",
		"$JS.API.STREAM.PURGE.SLUICE_STEPS", "$JS.API.STREAM.CREATE.OTHER", "$JS.API.STREAM.MSG.GET.SLUICE_STEPS", "$JS.ACK.SLUICE_STEPS.partition-2.1.1.1.1.0",
	} {
		require.NoError(t, conn.PublishRequest(subject, "sluice.reply", []byte("{}")))
		require.NoError(t, conn.Flush())
		require.ErrorContains(t, receive(t, denied), "permissions violation", subject)
	}
	_, err = conn.Subscribe("$SYS.>", func(*nats.Msg) {})
	require.NoError(t, err)
	require.ErrorContains(t, receive(t, denied), "permissions violation")
	stream, err = js.Stream(t.Context(), "SLUICE_STEPS")
	require.NoError(t, err)
	require.EqualValues(t, 3, stream.CachedInfo().State.Msgs)
	require.Equal(t, 1, stream.CachedInfo().State.Consumers)
	require.Empty(t, o.steps)
}

// A gateway that can't listen does not start, and says where it could not.
func TestAnAddressInUseIsAnError(t *testing.T) {
	t.Parallel()
	_, _, url := listening(t)
	_, err := bus.Start(t.Context(), bus.Config{
		Dir: t.TempDir(), Listen: url[len("nats://"):], Reader: func() string { return readerToken }, Partitions: partitions, Replica: "two", Now: time.Now,
		Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	require.ErrorContains(t, err, url[len("nats://"):])
}

// Whoever follows the steps sees those of all partitions, whichever replica publishes them.
func TestFollowSteps(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, url := range []string{"", c.url()} {
		t.Run(fmt.Sprint(url != ""), func(t *testing.T) {
			t.Parallel()
			b, _ := owning(t, url, "one")
			ctx, cancel := context.WithCancel(t.Context())
			steps, err := b.TailSteps(ctx)
			require.NoError(t, err)
			for p := range partitions {
				b.PublishStep(p, fmt.Sprint(p), fmt.Append(nil, p))
				require.Equal(t, fmt.Sprint(p), string(receive(t, steps)))
			}
			cancel()
			_, open := <-steps
			require.False(t, open)
			b.Stop(context.Background())
			_, err = b.TailSteps(t.Context())
			require.Error(t, err)
		})
	}
}
