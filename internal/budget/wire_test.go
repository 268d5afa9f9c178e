package budget

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// wire is a proxy to a PostgreSQL server that tells of each round trip: a client that asks for all results (Sync), or sends
// a simple query, waits for the server's answer before it sends more on its connection.
//
// Goroutines: one that accepts, two for each connection; the end of the test waits for them.
type wire struct {
	listener net.Listener
	server   string // its socket
	asked    func() // a round trip begins

	mu    sync.Mutex
	conns []net.Conn
	done  bool
	wg    sync.WaitGroup
}

// newWire gives the URL of a database behind a proxy.
func newWire(t *testing.T, database string, asked func()) (through string) {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	query := u.Query()
	w := &wire{listener: listener, server: query.Get("host") + "/.s.PGSQL.5432", asked: asked}
	w.wg.Go(w.accept)
	t.Cleanup(w.end)
	query.Del("host")
	query.Set("sslmode", "disable")
	u.RawQuery, u.Host = query.Encode(), listener.Addr().String()
	return u.String()
}

func (w *wire) end() {
	w.mu.Lock()
	w.done = true
	_ = w.listener.Close()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.mu.Unlock()
	w.wg.Wait()
}

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", w.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, client, server)
		if w.done {
			_, _ = client.Close(), server.Close()
		}
		w.mu.Unlock()
		w.wg.Go(func() { w.count(client, server) })
		w.wg.Go(func() {
			_, _ = io.Copy(client, server)
			_ = client.Close()
		})
	}
}

// count passes on what a client sends, message by message.
func (w *wire) count(client, server net.Conn) {
	defer server.Close() //nolint:errcheck // the end of a connection
	data := make([]byte, 64<<10)
	if w.pass(client, server, data, 0) != nil { // the first message has no type
		return
	}
	for w.pass(client, server, data, 1) == nil {
	}
}

// pass passes on one message: its type, its length, and the rest.
func (w *wire) pass(client, server net.Conn, data []byte, typed int) error {
	head := data[:typed+4]
	if _, err := io.ReadFull(client, head); err != nil {
		return err
	}
	rest := int(binary.BigEndian.Uint32(head[typed:])) - 4
	if rest < 0 || len(head)+rest > len(data) {
		return errors.New("a message is too long for this proxy")
	}
	if _, err := io.ReadFull(client, data[len(head):len(head)+rest]); err != nil {
		return err
	}
	if typed == 1 && (head[0] == 'S' || head[0] == 'Q') {
		w.asked()
	}
	_, err := server.Write(data[:len(head)+rest])
	return err
}
