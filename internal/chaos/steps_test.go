package chaos_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"sluice/internal/freeport"
	"sluice/store/storetest"
)

// busServers are NATS servers that can be lost: one, or a cluster.
type busServers struct {
	t       *testing.T
	options []server.Options
	servers []*server.Server
}

func newBusServers(t *testing.T, n int) *busServers {
	t.Helper()
	b := &busServers{t: t, servers: make([]*server.Server, n)}
	var ports []int
	for range 2 * n {
		addr, err := freeport.Addr()
		require.NoError(t, err)
		at, err := netip.ParseAddrPort(addr)
		require.NoError(t, err)
		ports = append(ports, int(at.Port()))
	}
	var routes []*url.URL
	for _, port := range ports[n:] {
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))})
	}
	for i := range n {
		o := server.Options{ServerName: fmt.Sprint("node", i), Host: "127.0.0.1", Port: ports[i], JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true}
		if n > 1 {
			o.Cluster, o.Routes = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: ports[n+i]}, routes
		}
		b.options = append(b.options, o)
	}
	b.start(n)
	t.Cleanup(func() { b.stop(n) })
	return b
}

// start starts the first servers.
func (b *busServers) start(n int) {
	b.t.Helper()
	for i := range n {
		options := b.options[i] // the server changes them
		s, err := server.NewServer(&options)
		require.NoError(b.t, err)
		s.Start()
		b.servers[i] = s
	}
	for _, s := range b.servers {
		require.True(b.t, s.ReadyForConnections(readyWithin))
	}
}

// stop ends the first servers.
func (b *busServers) stop(n int) {
	for _, s := range b.servers[:n] {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// lose ends the first servers for some time.
func (b *busServers) lose(n int, w *world, away time.Duration) {
	b.stop(n)
	w.pause(away)
	b.start(n)
}

func (b *busServers) urls() string {
	var all []string
	for _, s := range b.servers {
		all = append(all, s.ClientURL())
	}
	return strings.Join(all, ",")
}

// withSteps does something to the stream of steps. A stream that an earlier loss took away is made when it is needed again.
func (b *busServers) withSteps(do func(js jetstream.JetStream, stream jetstream.Stream) error) {
	b.t.Helper()
	conn, err := nats.Connect(b.urls())
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
	bus := newBusServers(t, 1)
	away := 2 * time.Second
	if *long {
		away = 30 * time.Second
	}
	w := newWorld(t, options{owners: askers(), seedPlus: 70, store: storetest.NewServer(t).Database(t), bus: bus.urls()})
	w.config.Visibility = "all"
	w.startReady()
	losses := []loss{
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
			bus.lose(1, w, away)
		}},
	}
	w.exchangesWhile(losses)
}

// The cluster loses its quorum in the middle of an exchange.
func TestExchangeWithoutQuorum(t *testing.T) {
	t.Parallel()
	bus := newBusServers(t, 3)
	away := 2 * time.Second
	if *long {
		away = 30 * time.Second
	}
	w := newWorld(t, options{owners: askers(), seedPlus: 71, store: storetest.NewServer(t).Database(t), bus: bus.urls()})
	w.config.Visibility = "all"
	w.startReady()
	w.exchangesWhile([]loss{{"nothing", func() {}}, {"the quorum", func() { bus.lose(2, w, away) }}})
}

// loss is something that happens to the bus.
type loss struct {
	name string
	lose func()
}

// exchangesWhile has an exchange during each loss. Each is what it is during the first, which is no loss.
func (w *world) exchangesWhile(losses []loss) {
	w.t.Helper()
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
			w.t.Logf("%s: %s", loss.name, time.Since(began))
			said := w.conversation(person)
			if undisturbed == nil {
				undisturbed = said
			}
			require.Equal(w.t, undisturbed, said, loss.name)
		}
	}
}
