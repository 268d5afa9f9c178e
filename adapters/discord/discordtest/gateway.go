package discordtest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

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

// resumePath is where sessions want to be resumed: not where they began.
const resumePath = "/resume"

// session is one gateway session. It outlives its connections.
type session struct {
	id     string
	shard  int
	of     int
	seq    int64
	events []sentEvent
	conn   *conn // nil while nobody is connected
	began  time.Time
}

type sentEvent struct {
	seq int64
	raw []byte
}

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

// noteClose ends the session that a client says good-bye to.
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

// identify begins a session. The caller holds mu.
func (s *Server) identify(c *conn, raw []byte) {
	var id struct {
		Token      string            `json:"token"`
		Intents    int               `json:"intents"`
		Shard      *[2]int           `json:"shard"`
		Properties map[string]string `json:"properties"`
	}
	if json.Unmarshal(raw, &id) != nil || len(id.Properties) == 0 {
		s.violations = append(s.violations, "identify without its required fields")
	}
	shard := [2]int{0, 1}
	if id.Shard != nil {
		shard = *id.Shard
	}
	s.identified = append(s.identified, time.Now())
	switch {
	case id.Token != s.opts.Token || s.revoked:
		c.end(closeBadToken)
	case s.refuse != 0:
		c.end(s.refuse)
	case s.opts.NoContent && id.Intents&contentIntent != 0:
		c.end(closeBadIntents)
	case shard[0] < 0 || shard[0] >= shard[1]:
		c.end(closeBadShard)
	default:
		s.begin(c, shard)
	}
	s.notify()
}

func (s *Server) begin(c *conn, shard [2]int) {
	se := &session{id: "s" + s.newID(), shard: shard[0], of: shard[1], conn: c, began: time.Now()}
	s.sessions[se.id] = se
	s.emit(se, "READY", obj{
		"v": 10, "user": botUser(), "session_id": se.id, "resume_gateway_url": s.GatewayURL() + resumePath, "shard": shard,
		"guilds": []obj{{"id": GuildID, "unavailable": true}}, "application": obj{"id": AppID, "flags": 0},
	})
	if ownsGuild(se) {
		s.emit(se, "GUILD_CREATE", s.world.guild())
	}
	for _, happen := range s.held {
		happen()
	}
	s.held = nil
}

// ownsGuild reports whether the one guild's events come to a session's shard.
func ownsGuild(se *session) bool { return guildNumber>>22%uint64(se.of) == uint64(se.shard) }

// resume gives a session's missed events once more. The caller holds mu.
func (s *Server) resume(c *conn, raw []byte) {
	var r struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int64  `json:"seq"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		s.violations = append(s.violations, "resume that can't be read: "+err.Error())
	}
	se := s.sessions[r.Session]
	switch {
	case r.Token != s.opts.Token || s.revoked:
		c.end(closeBadToken)
	case se == nil:
		c.send(encode(obj{"op": opInvalid, "d": false}))
	case !strings.HasSuffix(c.path, resumePath):
		s.violations = append(s.violations, "resume at "+c.path+", not at the session's own address")
		c.end(4000)
	case r.Seq > se.seq:
		delete(s.sessions, se.id)
		c.end(4007)
	default:
		if se.conn != nil && se.conn != c {
			se.conn.end(closeAlreadyAuthed)
		}
		se.conn = c
		s.resumes++
		for _, e := range se.events {
			if e.seq > r.Seq {
				c.send(e.raw)
			}
		}
		s.emit(se, "RESUMED", obj{})
	}
	s.notify()
}

// emit gives one event to a session, whether it is connected or not. The caller holds mu.
func (s *Server) emit(se *session, kind string, data any) {
	se.seq++
	raw := encode(obj{"op": opDispatch, "t": kind, "s": se.seq, "d": data})
	se.events = append(se.events, sentEvent{se.seq, raw})
	if se.conn != nil {
		se.conn.send(raw)
	}
	s.notify()
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

// Identifies are the times at which connections have identified.
func (s *Server) Identifies() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.identified...)
}

// WaitIdentifies waits until there were n.
func (s *Server) WaitIdentifies(ctx context.Context, n int) error {
	return s.await(ctx, func() bool { return len(s.identified) >= n })
}

// WaitResumes waits until sessions were resumed n times.
func (s *Server) WaitResumes(ctx context.Context, n int) error {
	return s.await(ctx, func() bool { return s.resumes >= n })
}

// WaitHeartbeats waits until there were n.
func (s *Server) WaitHeartbeats(ctx context.Context, n int) error {
	return s.await(ctx, func() bool { return s.beats >= n })
}

// WaitConnected waits until n sessions have a connection.
func (s *Server) WaitConnected(ctx context.Context, n int) error {
	return s.await(ctx, func() bool { return s.connected() >= n })
}

func (s *Server) connected() int {
	n := 0
	for _, se := range s.sessions {
		if se.conn != nil {
			n++
		}
	}
	return n
}

// WaitConnections waits until n websockets are open, with a session or without.
func (s *Server) WaitConnections(ctx context.Context, n int) error {
	return s.await(ctx, func() bool { return len(s.conns) >= n })
}

// WaitSessions waits until there are exactly n, connected or to be resumed.
func (s *Server) WaitSessions(ctx context.Context, n int) error {
	return s.await(ctx, func() bool { return len(s.sessions) == n })
}

// Shards are the shards of the sessions, each with their number, in order.
func (s *Server) Shards() [][2]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out [][2]int
	for _, se := range s.sessions {
		out = append(out, [2]int{se.shard, se.of})
	}
	slices.SortFunc(out, func(a, b [2]int) int { return a[0] - b[0] })
	return out
}
