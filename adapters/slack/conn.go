package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"sluice/adapters"
)

const (
	maxFrame     = 4 << 20          // bytes of one envelope; Slack's are a few KiB
	writeTimeout = 10 * time.Second // for one acknowledgement or ping
)

// envelope is a message of Slack on a WebSocket.
type envelope struct {
	Type    string          `json:"type"`
	ID      string          `json:"envelope_id"`
	Payload json.RawMessage `json:"payload"`
	Reason  string          `json:"reason"`        // disconnect: warning, refresh_requested, link_disabled
	Retry   int             `json:"retry_attempt"` // how often it was sent before
}

// errDeaf means that a connection was silent for too long.
var errDeaf = errors.New("no data on Slack's socket: the connection is dead")

// conn is one WebSocket. It has two goroutines, one that reads and one that sends pings. Both end with the connection, and
// close waits for them.
type conn struct {
	ws      *websocket.Conn
	silence time.Duration // a connection without a frame for so long is dead

	owner   owner
	writing sync.Mutex    // one writer at a time
	hello   chan struct{} // closed after Slack's hello
	leaving chan struct{} // closed when Slack announces that it will close the connection
	done    chan struct{} // closed when reading has ended
	err     error         // why; read it after done
	reason  atomic.Value  // of leaving: a string

	closing atomic.Bool // close was called
	running sync.WaitGroup
}

// owner receives the events of a connection from the goroutine that reads. Its functions must not block.
type owner struct {
	// up is called with 1 after Slack's hello, and with -1 when that connection has ended; lost: Slack or the network closed it.
	up func(change int, lost bool)
	// heard is called for each frame.
	heard func()
	// take receives each envelope with content, in order.
	take func(c *conn, raw []byte, e envelope)
}

// dial opens a WebSocket and reads until it ends.
func dial(ctx context.Context, url string, silence time.Duration, o owner) (*conn, error) {
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: silence}
	ws, resp, err := dialer.DialContext(ctx, url, nil) //nolint:bodyclose // the library's documentation: the body need not be closed
	if err != nil {
		if resp != nil {
			err = fmt.Errorf("status %d: %w", resp.StatusCode, err)
		}
		return nil, fmt.Errorf("open slack's socket: %w", err)
	}
	ws.SetReadLimit(maxFrame)
	c := &conn{
		ws: ws, silence: silence, owner: o,
		hello: make(chan struct{}), leaving: make(chan struct{}), done: make(chan struct{}),
	}
	ws.SetPingHandler(func(data string) error {
		c.heard()
		return ignoreBusy(ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(writeTimeout)))
	})
	ws.SetPongHandler(func(string) error { c.heard(); return nil })
	c.heard()
	c.running.Go(c.read)
	c.running.Go(c.ping)
	return c, nil
}

// ignoreBusy drops the error of a pong that can't be sent because the connection is busy writing.
func ignoreBusy(err error) error {
	if errors.Is(err, websocket.ErrCloseSent) {
		return nil
	}
	return err
}

// heard extends the time after which the connection counts as dead.
func (c *conn) heard() {
	c.owner.heard()
	_ = c.ws.SetReadDeadline(time.Now().Add(c.silence)) // a closed connection is noticed by reading
}

func (c *conn) read() {
	var greeted, warned bool
	defer func() {
		if greeted {
			c.owner.up(-1, !c.closing.Load() && !warned)
		}
		close(c.done)
	}()
	for {
		_, raw, err := c.ws.ReadMessage()
		if err != nil {
			c.err = readError(err)
			return
		}
		c.heard()
		var e envelope
		if _, err := adapters.Decode(raw, &e); err != nil {
			e = envelope{}
		}
		switch {
		case e.Type == "hello" && !greeted:
			greeted = true
			c.owner.up(1, false)
			close(c.hello)
		case e.Type == "disconnect" && !warned:
			warned = true
			c.reason.Store(e.Reason)
			close(c.leaving)
		case e.Type != "hello" && e.Type != "disconnect":
			c.owner.take(c, raw, e)
		}
	}
}

func readError(err error) error {
	if timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && timeout.Timeout() {
		return errDeaf
	}
	return fmt.Errorf("read slack's socket: %w", err)
}

// ping sends at least three pings within the allowed silence, and Slack must answer them.
func (c *conn) ping() {
	ticker := time.NewTicker(c.silence / 3)
	defer ticker.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-ticker.C:
			_ = c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTimeout)) // a dead connection is noticed by reading
		}
	}
}

// ack confirms an envelope on the connection that it came from: Slack expects the confirmation there.
func (c *conn) ack(id string) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.ws.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return fmt.Errorf("confirm envelope: %w", err)
	}
	if err := c.ws.WriteJSON(struct {
		ID string `json:"envelope_id"`
	}{id}); err != nil {
		return fmt.Errorf("confirm envelope: %w", err)
	}
	return nil
}

// close ends the connection and waits for its goroutines.
func (c *conn) close() {
	c.closing.Store(true)
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
	_ = c.ws.Close() // it may be closed already
	c.running.Wait()
}
