package discordtest

import (
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// conn is one websocket. Its goroutines: the HTTP handler reads, and out writes.
type conn struct {
	ws    *websocket.Conn
	path  string
	mu    sync.Mutex
	queue [][]byte
	wake  chan struct{} // capacity 1
	done  chan struct{}
	code  int  // to close with after the queue; 0 for none
	dead  bool // heartbeats are not answered; guarded by the server's mu
}

// send queues one payload.
func (c *conn) send(raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, raw)
	c.poke()
}

// end closes the connection after what is queued.
func (c *conn) end(code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.code = code
	c.poke()
}

func (c *conn) poke() {
	select {
	case c.wake <- struct{}{}:
	default: // it will look
	}
}

func (c *conn) write() {
	for {
		select {
		case <-c.wake:
		case <-c.done:
			return
		}
		c.mu.Lock()
		queue, code := c.queue, c.code
		c.queue = nil
		c.mu.Unlock()
		for _, raw := range queue {
			if c.ws.WriteMessage(websocket.TextMessage, raw) != nil {
				return // the reader ends it
			}
		}
		if code != 0 {
			_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
			_ = c.ws.Close() // the reader ends
			return
		}
	}
}
