package chaos_test

import (
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"sluice/internal/freeport"
	"sluice/store/storetest"
)

// busServer is a NATS server that can be lost.
type busServer struct {
	t       *testing.T
	options server.Options
	server  *server.Server
}

func newBusServer(t *testing.T) *busServer {
	t.Helper()
	addr, err := freeport.Addr()
	require.NoError(t, err)
	_, text, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	b := &busServer{t: t, options: server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}}
	b.start()
	t.Cleanup(b.stop)
	return b
}

func (b *busServer) start() {
	b.t.Helper()
	options := b.options // the server changes them
	s, err := server.NewServer(&options)
	require.NoError(b.t, err)
	s.Start()
	require.True(b.t, s.ReadyForConnections(readyWithin))
	b.server = s
}

func (b *busServer) stop() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// withSteps does something to the stream of steps. A stream that an earlier loss took away is made when it is needed again.
func (b *busServer) withSteps(do func(js jetstream.JetStream, stream jetstream.Stream) error) {
	b.t.Helper()
	conn, err := nats.Connect(b.server.ClientURL())
	require.NoError(b.t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(b.t, err)
	stream, err := js.Stream(b.t.Context(), stepsStream)
	if err == nil {
		err = do(js, stream)
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		require.NoError(b.t, err)
	}
}

const stepsStream = "SLUICE_STEPS"

// The bus loses the stream of steps, its consumers or everything in the middle of an exchange. The exchange ends as it does
// without a loss: no step is missing, and none is worked twice.
func TestExchangeWhileTheBusIsLost(t *testing.T) {
	t.Parallel()
	bus := newBusServer(t)
	away := 2 * time.Second
	if *long {
		away = 30 * time.Second
	}
	w := newWorld(t, options{owners: askers(), seedPlus: 70, store: storetest.NewServer(t).Database(t), bus: bus.server.ClientURL()})
	w.config.Visibility = "all"
	w.startReady()
	losses := []struct {
		name string
		lose func()
	}{
		{"nothing", func() {}},
		{"the stream", func() {
			bus.withSteps(func(js jetstream.JetStream, _ jetstream.Stream) error {
				return js.DeleteStream(t.Context(), stepsStream)
			})
		}},
		{"its consumers", func() {
			bus.withSteps(func(_ jetstream.JetStream, stream jetstream.Stream) error {
				for name := range stream.ConsumerNames(t.Context()).Name() {
					if err := stream.DeleteConsumer(t.Context(), name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
						return err
					}
				}
				return nil
			})
		}},
		{"the messages", func() {
			bus.withSteps(func(_ jetstream.JetStream, stream jetstream.Stream) error { return stream.Purge(t.Context()) })
		}},
		{"the server", func() {
			bus.stop()
			w.pause(away)
			bus.start()
		}},
	}
	rounds := 1
	if *long {
		rounds = 8
	}
	var undisturbed []string
	person := int64(firstAsker)
	for range rounds {
		for _, loss := range losses {
			person++
			w.say(person+1000, "")
			w.awaitAnswers()
			w.say(person, ask(person+1000))
			w.pause(time.Duration(w.rng.Int64N(int64(60 * time.Millisecond))))
			began := time.Now()
			loss.lose()
			w.untilAnnounced(person + 1000)
			t.Logf("%s: %s", loss.name, time.Since(began))
			said := w.conversation(person)
			if undisturbed == nil {
				undisturbed = said
			}
			require.Equal(t, undisturbed, said, loss.name)
		}
	}
}
