package discordtest

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/gorilla/websocket"
)

// The gateway's operations and close codes that the fake uses.
const (
	opDispatch     = 0
	opHeartbeat    = 1
	opIdentify     = 2
	opResume       = 6
	opReconnect    = 7
	opInvalid      = 9
	opHello        = 10
	opHeartbeatAck = 11

	closeUnknownOp     = 4001
	closeNotAuthed     = 4003
	closeBadToken      = 4004
	closeAlreadyAuthed = 4005
	closeBadShard      = 4010
	closeBadIntents    = 4014
)

const contentIntent = 1 << 15

// resumePath is the path for resuming sessions, which differs from the one for new sessions.
const resumePath = "/resume"

type inFrame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // what the fake makes can be encoded
	}
	return raw
}

// serveGateway is one connection from Hello to its end.
func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	if q := r.URL.Query(); q.Get("v") != "10" || q.Get("encoding") != "json" {
		s.violate("gateway address without v=10 and encoding=json: %s", r.URL.RawQuery)
	}
	up := websocket.Upgrader{}
	ws, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // the answer was written
	}
	c := &conn{ws: ws, path: r.URL.Path, wake: make(chan struct{}, 1), done: make(chan struct{})}
	var out sync.WaitGroup
	out.Go(c.write)
	defer out.Wait()
	defer close(c.done)
	defer func() { _ = ws.Close() }()
	s.mu.Lock()
	mute := s.mute
	s.conns[c] = true
	s.notify()
	s.mu.Unlock()
	defer s.gone(c)
	if !mute {
		c.send(encode(obj{"op": opHello, "d": obj{"heartbeat_interval": s.opts.Heartbeat.Milliseconds()}}))
	}
	s.readAll(c)
}

func (s *Server) gone(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	for _, se := range s.sessions {
		if se.conn == c {
			se.conn = nil
		}
	}
	s.notify()
}

func (s *Server) readAll(c *conn) {
	for {
		_, raw, err := c.ws.ReadMessage()
		if err != nil {
			s.noteClose(c, err)
			return
		}
		var f inFrame
		if json.Unmarshal(raw, &f) != nil {
			s.violate("gateway payload is no JSON: %.100s", raw)
			c.end(4002)
			continue
		}
		if len(raw) > 4096 {
			s.violate("gateway payload of %d bytes, at most 4096 are allowed", len(raw))
		}
		s.handle(c, f)
	}
}

// noteClose ends the session of a client that closes its connection.
func (s *Server) noteClose(c *conn, err error) {
	if !websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, se := range s.sessions {
		if se.conn == c {
			delete(s.sessions, id)
		}
	}
	s.notify()
}

func (s *Server) handle(c *conn, f inFrame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f.Op {
	case opHeartbeat:
		s.beats++
		if !c.dead {
			c.send(encode(obj{"op": opHeartbeatAck}))
		}
		s.notify()
	case opIdentify:
		s.identify(c, f.Data)
	case opResume:
		s.resume(c, f.Data)
	default:
		c.end(closeUnknownOp)
	}
}
