package bus_test

import (
	"io"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// wire is a way to a port that can be cut.
type wire struct {
	t      *testing.T
	listen net.Listener
	target string

	mu    sync.Mutex
	conns []net.Conn
	dead  bool
	wg    sync.WaitGroup
}

func newWire(t *testing.T, port int) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{t: t, listen: l, target: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	w.wg.Go(w.accept)
	t.Cleanup(func() {
		w.cut()
		w.wg.Wait()
	})
	return w
}

func (w *wire) url() string { return "nats://" + w.listen.Addr().String() }

func (w *wire) accept() {
	for {
		in, err := w.listen.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", w.target)
		w.mu.Lock()
		if err != nil || w.dead {
			w.mu.Unlock()
			_ = in.Close()
			continue
		}
		w.conns = append(w.conns, in, out)
		w.mu.Unlock()
		w.wg.Go(func() { _, _ = io.Copy(in, out) })
		w.wg.Go(func() { _, _ = io.Copy(out, in) })
	}
}

// cut ends all connections and lets none be made again.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
	_ = w.listen.Close()
	for _, c := range w.conns {
		_ = c.Close()
	}
}
