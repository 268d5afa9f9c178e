package chaos_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/pause"
	"sluice/store/postgres"
	"sluice/store/storetest"
)

const (
	oneWay     = 100 * time.Millisecond // of a packet
	lostOf     = 20                     // one in so many packets is lost
	sentAgain  = 300 * time.Millisecond // how long TCP takes to send a lost one again; what follows waits behind it
	packetSize = 16 << 10
)

// network is a TCP connection to a server over a network that can be slow and lossy, and can be cut.
type network struct {
	ctx      context.Context // of the test
	listener net.Listener
	dial     func() (net.Conn, error)
	slow     atomic.Bool
	kernel   bool   // the kernel makes it slow
	far      string // the address behind the kernel's link

	mu    sync.Mutex
	rng   *rand.Rand
	up    chan struct{} // closed unless the network is cut
	conns []net.Conn
	done  bool
	wg    sync.WaitGroup
}

// newNetwork is a fast network. With -chaos.link, it is one that the kernel makes slow and lossy (tools/slownetwork), and
// the emulation adds nothing.
func newNetwork(t *testing.T, seed uint64, kind, address string) *network {
	t.Helper()
	near, far, kernel := strings.Cut(*link, " ")
	listener, err := net.Listen("tcp", near+":0")
	require.NoError(t, err)
	n := &network{kernel: kernel, far: far, ctx: t.Context(), listener: listener, dial: func() (net.Conn, error) { return net.Dial(kind, address) }, rng: rand.New(rand.NewPCG(seed, 1)), up: make(chan struct{})}
	n.heal()
	n.wg.Go(n.accept)
	t.Cleanup(n.end)
	return n
}

func (n *network) addr() string {
	if n.kernel {
		_, port, _ := net.SplitHostPort(n.listener.Addr().String())
		return net.JoinHostPort(n.far, port)
	}
	return n.listener.Addr().String()
}

// cut lets nothing through any more, and does not say so: what is sent arrives when the network heals, unless somebody gives up before.
func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.up = make(chan struct{})
}

func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.up)
}

// passes waits until the network is not cut. It is false at the end of the test.
func (n *network) passes() bool {
	n.mu.Lock()
	up := n.up
	n.mu.Unlock()
	select {
	case <-up:
		return true
	case <-n.ctx.Done():
		return false
	}
}

func (n *network) end() {
	n.mu.Lock()
	n.done = true
	_ = n.listener.Close()
	for _, c := range n.conns {
		_ = c.Close()
	}
	n.mu.Unlock()
	n.wg.Wait()
}

func (n *network) accept() {
	for {
		near, err := n.listener.Accept()
		if err != nil {
			return
		}
		n.wg.Go(func() { n.join(near) })
	}
}

// join connects a client with the server.
func (n *network) join(near net.Conn) {
	if !n.passes() {
		_ = near.Close()
		return
	}
	far, err := n.dial()
	if err != nil {
		_ = near.Close()
		return
	}
	n.mu.Lock()
	n.conns = append(n.conns, near, far)
	if n.done {
		_, _ = near.Close(), far.Close()
	}
	n.mu.Unlock()
	n.wg.Go(func() { n.carry(near, far) })
	n.wg.Go(func() { n.carry(far, near) })
}

// packet is what is on its way.
type packet struct {
	data []byte
	due  time.Time
}

// delay is how long the next packet takes.
func (n *network) delay() time.Duration {
	if n.kernel || !n.slow.Load() {
		return 0
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.rng.IntN(lostOf) == 0 {
		return oneWay + sentAgain
	}
	return oneWay
}

// carry passes on what one side sends, late and in order.
func (n *network) carry(from, to net.Conn) {
	onTheWay := make(chan packet, 1<<10)
	var arrivals sync.WaitGroup
	arrivals.Go(func() {
		for p := range onTheWay {
			if pause.Wait(n.ctx, time.Until(p.due)) != nil || !n.passes() {
				break
			}
			if _, err := to.Write(p.data); err != nil {
				break
			}
		}
		_, _ = from.Close(), to.Close()
		for range onTheWay { // what is left is lost with the connection
		}
	})
	data := make([]byte, packetSize)
	for {
		size, err := from.Read(data)
		if size > 0 {
			onTheWay <- packet{bytes.Clone(data[:size]), time.Now().Add(n.delay())}
		}
		if err != nil {
			break
		}
	}
	close(onTheWay)
	arrivals.Wait()
}

// Gateways reach their database and their bus over a network with 200 ms there and back that loses 5 % of the packets. Nothing is lost,
// nothing is said twice.
func TestSlowNetwork(t *testing.T) {
	t.Parallel()
	gateways, messages := 2, 10
	if *long {
		gateways, messages = 3, 600
	}
	if *many > 0 {
		gateways, messages = 3, *many
	}
	database := storetest.NewServer(t).Database(t)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: database}) // migrations take their time over this network
	require.NoError(t, err)
	require.NoError(t, db.Close())
	u, err := url.Parse(database)
	require.NoError(t, err)
	toDatabase := newNetwork(t, *seed, "unix", u.Query().Get("host")+"/.s.PGSQL.5432")
	u.RawQuery, u.Host = "", toDatabase.addr()
	f := newFleet(t, gateways, u.String())
	toBus := newNetwork(t, *seed+1, "tcp", strings.TrimPrefix(f.config.BusURL, "nats://"))
	toDatabase.slow.Store(true)
	toBus.slow.Store(true)
	for i := range f.each {
		f.configs[i].BusURL = "nats://" + toBus.addr()
		f.run(i, f.binary)
	}
	began := time.Now()
	f.talk(messages, ended)
	f.process, f.config = f.each[0], f.configs[0]
	f.awaitAnswers()
	t.Logf("answered %s after the first message", time.Since(began).Round(time.Millisecond))
	verdict, unknown := f.judge()
	require.Empty(t, unknown)
	require.Empty(t, verdict.Repeats)
	require.Empty(t, f.rows("failed", "expired", "blocked"), "dead letters")
	f.process = nil
}
