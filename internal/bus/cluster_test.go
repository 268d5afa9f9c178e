package bus_test

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/internal/bus"
	"sluice/internal/freeport"
	"sluice/sessions"
)

// nodesLog tells that a node has said something: that it got a message of another one, too.
type nodesLog chan struct{}

var _ server.Logger = nodesLog(nil)

func (n nodesLog) Noticef(string, ...any) { n.tell() }
func (n nodesLog) Warnf(string, ...any)   { n.tell() }
func (n nodesLog) Fatalf(string, ...any)  { n.tell() }
func (n nodesLog) Errorf(string, ...any)  { n.tell() }
func (n nodesLog) Debugf(string, ...any)  { n.tell() }
func (n nodesLog) Tracef(string, ...any)  { n.tell() }

// Write is told too when it is the gateway's log.
func (n nodesLog) Write(p []byte) (int, error) { n.tell(); return len(p), nil }

func (n nodesLog) tell() {
	select {
	case n <- struct{}{}:
	default: // it is told already
	}
}

// until waits till ok, looking again whenever a node has said something.
func (n nodesLog) until(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-n:
		case <-deadline:
			t.Fatal("it did not come to pass: a leader of the cluster that knows its members, or the loss of a connection")
		}
	}
}

// threeNodes starts a NATS cluster of three that has a leader who knows its members.
func threeNodes(t *testing.T) []*server.Server {
	t.Helper()
	ports := freePorts(t, 6)
	var routes []*url.URL
	for _, port := range ports[3:] {
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))})
	}
	heard := make(nodesLog, 1)
	var nodes []*server.Server
	for i := range 3 {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("node", i), Host: "127.0.0.1", Port: ports[i], JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: ports[3+i]}, Routes: routes,
		})
		require.NoError(t, err)
		s.SetLoggerV2(heard, true, true, true)
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		nodes = append(nodes, s)
	}
	heard.until(t, func() bool {
		for _, s := range nodes {
			if s.JetStreamIsLeader() {
				return len(s.JetStreamClusterPeers()) == 3 && s.NumRoutes() > 0
			}
		}
		return false
	})
	for _, s := range nodes {
		s.SetLoggerV2(nil, false, false, false)
	}
	return nodes
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		addr, err := freeport.Addr()
		require.NoError(t, err)
		at, err := netip.ParseAddrPort(addr)
		require.NoError(t, err)
		ports = append(ports, int(at.Port()))
	}
	return ports
}

// A cluster exists to survive a node, here the one that leads the leases.
func TestANodeOfTheClusterDies(t *testing.T) {
	t.Parallel()
	nodes := threeNodes(t)
	var urls []string
	for _, s := range nodes {
		urls = append(urls, s.ClientURL())
	}
	b, o := start(t, strings.Join(urls, ","), "one"), newOwner("one", &board{owners: map[int]map[string]bool{}})
	require.NoError(t, b.Own(t.Context(), o))
	until(t, func() bool { return o.count() == partitions }, o)

	dead := leaderOf(t, nodes, urls, "KV_SLUICE_LEASES")
	dead.Shutdown()
	dead.WaitForShutdown()

	events := follow(t, b, o, "sess_1", 0)
	require.NoError(t, b.Ready())
	b.Emit(sessions.Event{Session: "sess_1", Text: "still here"})
	require.Equal(t, "still here", receive(t, events).Text)
	require.ErrorIs(t, leaseOnce(t, b), errEnough, "a lease can be had from what is left")
	until(t, func() bool { return o.count() == partitions }, o)
}

// leaderOf is the node that leads a stream.
func leaderOf(t *testing.T, nodes []*server.Server, urls []string, name string) *server.Server {
	t.Helper()
	conn, err := nats.Connect(strings.Join(urls, ","))
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	s, err := js.Stream(t.Context(), name)
	require.NoError(t, err)
	for _, node := range nodes {
		if node.Name() == s.CachedInfo().Cluster.Leader {
			return node
		}
	}
	t.Fatal("the stream has no leader")
	return nil
}

// A cluster that answers but has lost most of its nodes can keep nothing. The start says so and ends, so that it can be tried again.
// The last node may be the one that led: it answers as the leader for some seconds still.
func TestAClusterWithoutQuorum(t *testing.T) {
	t.Parallel()
	for name, led := range map[string]bool{"the leader is left": true, "a follower is left": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := threeNodes(t)
			left := slices.IndexFunc(nodes, func(s *server.Server) bool { return s.JetStreamIsLeader() == led })
			require.GreaterOrEqual(t, left, 0)
			for i, dead := range nodes {
				if i != left {
					dead.Shutdown()
					dead.WaitForShutdown()
				}
			}
			b, err := bus.Start(t.Context(), bus.Config{
				URL: nodes[left].ClientURL(), Partitions: partitions, Replica: "one", Now: time.Now, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
			})
			require.Nil(t, b)
			require.ErrorContains(t, err, "the NATS cluster has no quorum")
		})
	}
}

// No error of the bus tells a password or a token of its address.
func TestNoErrorTellsThePasswordOfTheAddress(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	at := strings.TrimPrefix(c.url(), "nats://")
	said := make(nodesLog, 1)
	b := startWith(t, "nats://sluice:PASSWORD@"+at+", nats://PASSWORD@"+at, "one", prometheus.NewRegistry(), said)
	c.stop()
	said.until(t, func() bool { return b.Ready() != nil })
	require.ErrorContains(t, b.Ready(), "nats://"+at)
	require.NotContains(t, b.Ready().Error(), "PASSWORD")

	for _, url := range []string{"nats://sluice:PASSWORD@127.0.0.1:x", "nats://sluice:PASS%WORD@127.0.0.1:1", "nats://sluice:PASS WORD@127.0.0.1:1", "nats://sluice:PASSWORD@127.0.0.1:1"} {
		_, err := bus.Start(t.Context(), bus.Config{URL: url, Partitions: partitions, Replica: "one", Now: time.Now, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "PASS")
		require.NotContains(t, err.Error(), "WORD")
	}
}
