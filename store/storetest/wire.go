package storetest

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Wire is a proxy to a PostgreSQL server. It tells of each round trip: a client that asks for all results (Sync), or sends a simple
// query, waits for the server's answer before it sends more on its connection.
//
// Goroutines: one that accepts, two for each connection; the end of the test waits for them.
type Wire struct {
	URL string // of the database behind the proxy

	listener net.Listener
	server   string      // its socket
	asked    func()      // a round trip begins
	deaf     atomic.Bool // the next answer is lost

	mu    sync.Mutex
	conns []net.Conn
	done  bool
	wg    sync.WaitGroup
}

// NewWire puts a proxy before a database on a server that listens on a socket. asked is called when a round trip begins.
func NewWire(t testing.TB, database string, asked func()) *Wire {
	t.Helper()
	u, err := url.Parse(database)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	query := u.Query()
	w := &Wire{listener: listener, server: query.Get("host") + "/.s.PGSQL.5432", asked: asked}
	query.Del("host")
	query.Set("sslmode", "disable")
	u.RawQuery, u.Host = query.Encode(), listener.Addr().String()
	w.URL = u.String()
	w.wg.Go(w.accept)
	t.Cleanup(w.end)
	return w
}

// LoseNext loses the next answer of the server, with its connection.
func (w *Wire) LoseNext() { w.deaf.Store(true) }

func (w *Wire) end() {
	w.mu.Lock()
	w.done = true
	_ = w.listener.Close()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.mu.Unlock()
	w.wg.Wait()
}

func (w *Wire) accept() {
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
		w.wg.Go(func() { w.answer(client, server) })
	}
}

// answer passes on what the server says, until an answer is to be lost.
func (w *Wire) answer(client, server net.Conn) {
	defer client.Close() //nolint:errcheck // the end of a connection
	data := make([]byte, 64<<10)
	for {
		n, err := server.Read(data)
		if err != nil || w.deaf.CompareAndSwap(true, false) {
			return
		}
		if _, err := client.Write(data[:n]); err != nil {
			return
		}
	}
}

// count passes on what a client sends, message by message.
func (w *Wire) count(client, server net.Conn) {
	defer server.Close() //nolint:errcheck // the end of a connection
	data := make([]byte, 64<<10)
	if w.pass(client, server, data, 0) != nil { // the first message has no type
		return
	}
	for w.pass(client, server, data, 1) == nil {
	}
}

// pass passes on one message: its type, its length, and the rest.
func (w *Wire) pass(client, server net.Conn, data []byte, typed int) error {
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
