// Package wire breaks connections for fakes of chat platforms: it cuts them or blocks their data, as networks do.
package wire

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// Listener listens on the loopback interface and tracks its connections. It is safe for concurrent use, and is closed
// by the server that uses it.
type Listener struct {
	net.Listener

	mu   sync.Mutex
	open map[*conn]struct{}
}

// Listen opens a loopback port.
func Listen() (*Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a fake platform: %w", err)
	}
	return &Listener{Listener: l, open: map[*conn]struct{}{}}, nil
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tracked := &conn{Conn: c, owner: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[tracked] = struct{}{}
	return tracked, nil
}

// Drop cuts all open connections. New ones are still accepted.
func (l *Listener) Drop() {
	for _, c := range l.all() {
		_ = c.Close() // the other side may have closed it already
	}
}

// Deafen blocks all data on the open connections, in both directions and forever, but keeps them open. New ones work.
func (l *Listener) Deafen() {
	for _, c := range l.all() {
		c.deaf.Store(true)
	}
}

func (l *Listener) all() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := make([]*conn, 0, len(l.open))
	for c := range l.open {
		open = append(open, c)
	}
	return open
}

// conn is a connection; when deaf, it drops all data.
type conn struct {
	net.Conn
	owner *Listener
	deaf  atomic.Bool
}

// Read implements net.Conn. A deaf connection reads until it is closed and returns no data.
func (c *conn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if err != nil || !c.deaf.Load() {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	if c.deaf.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.owner.mu.Lock()
	delete(c.owner.open, c)
	c.owner.mu.Unlock()
	return c.Conn.Close()
}
