package slacktest

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// socket is one WebSocket of the app.
type socket struct {
	srv  *Server
	ws   *websocket.Conn
	done chan struct{} // closed when nothing more is read

	leaving    bool // the server has announced that it will close; guarded by the server's mu
	lost       bool // it sends and receives nothing; guarded by the server's mu
	unanswered int  // pings in a row; guarded by the server's mu

	mu sync.Mutex // one writer at a time
}

// serveSocket serves a connection: hello, pings, confirmations.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // it has answered
	}
	c := &socket{srv: s, ws: ws, done: make(chan struct{})}
	ws.SetPongHandler(func(string) error {
		s.mu.Lock()
		c.unanswered = 0
		s.mu.Unlock()
		return s.count(&s.answered)
	})
	ws.SetPingHandler(func(data string) error {
		_ = ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(time.Second)) // the reader notices a dead connection
		return s.count(&s.asked)
	})
	c.write(object{"type": "hello", "num_connections": 1, "connection_info": object{"app_id": "A0001"}})
	s.mu.Lock()
	if !s.start(c.ping) {
		s.mu.Unlock()
		_ = ws.Close() // the network may be gone already
		return
	}
	if s.sockets = append(s.sockets, c); len(s.sockets) == 2 && s.fewest == 0 {
		s.fewest = 2
	}
	s.notify()
	s.mu.Unlock()
	c.read()
}

// write sends an object.
func (c *socket) write(v any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.ws.SetWriteDeadline(time.Now().Add(5 * time.Second)) // the reader notices a dead connection
	_ = c.ws.WriteJSON(v)
}

func (c *socket) writeRaw(raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.ws.SetWriteDeadline(time.Now().Add(5 * time.Second))
	_ = c.ws.WriteMessage(websocket.TextMessage, raw) // the reader notices a dead connection
}

// maxUnanswered is how many pings in a row may stay without an answer before the socket is closed.
const maxUnanswered = 10

func (c *socket) ping() {
	ticker := time.NewTicker(c.srv.opts.PingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-ticker.C:
			_ = c.ws.WriteControl(websocket.PingMessage, []byte("fake"), time.Now().Add(time.Second)) // the reader notices a dead connection
			c.srv.mu.Lock()
			c.unanswered++
			gone := c.unanswered > maxUnanswered
			c.srv.mu.Unlock()
			if gone {
				_ = c.ws.Close() // it may be closed already
			}
		}
	}
}

// read takes confirmations until the connection ends.
func (c *socket) read() {
	defer func() {
		_ = c.ws.Close() // it may be closed already
		close(c.done)
		c.srv.forget(c)
	}()
	for {
		_, raw, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		var ack struct {
			ID string `json:"envelope_id"`
		}
		if json.Unmarshal(raw, &ack) != nil || ack.ID == "" {
			c.srv.violate("socket: not a confirmation: %s", raw)
			continue
		}
		c.srv.confirm(c, ack.ID)
	}
}

// forget drops a socket that has ended.
func (s *Server) forget(c *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, known := range s.sockets {
		if known == c {
			s.sockets = append(s.sockets[:i:i], s.sockets[i+1:]...)
			break
		}
	}
	s.fewest = min(s.fewest, len(s.sockets))
	s.notify()
}

// count notes a ping or the answer to one.
func (s *Server) count(what *int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	*what++
	s.notify()
	return nil
}

// live returns the open sockets.
func (s *Server) live() []*socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*socket(nil), s.sockets...)
}

// Sockets returns the number of open sockets.
func (s *Server) Sockets() int { return len(s.live()) }

// leaveAfter is how long a socket stays open after the announcement that it will close.
const leaveAfter = 2 * time.Second

// Disconnect announces to the app that its open sockets will close, and closes them after leaveAfter.
func (s *Server) Disconnect(reason string) {
	for _, c := range s.live() {
		s.leave(c, reason)
	}
}

func (s *Server) leave(c *socket, reason string) {
	s.mu.Lock()
	c.leaving = true
	s.mu.Unlock()
	c.write(object{"type": "disconnect", "reason": reason})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start(func() {
		timer := time.NewTimer(leaveAfter)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.done:
		case <-s.closing.Done():
		}
		_ = c.ws.Close() // it may be closed already
	})
}

// staying returns the sockets that will not close, or all if every one will. The caller holds mu.
func (s *Server) staying() []*socket {
	var staying []*socket
	for _, c := range s.sockets {
		if !c.leaving {
			staying = append(staying, c)
		}
	}
	if staying == nil {
		return s.sockets
	}
	return staying
}
