package discordtest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

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

// ownsGuild reports whether a session's shard receives the guild's events.
func ownsGuild(se *session) bool { return guildNumber>>22%uint64(se.of) == uint64(se.shard) }

// resume sends the missed events of a session. The caller holds mu.
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

// emit adds an event to a session, and sends it if the session is connected. The caller holds mu.
func (s *Server) emit(se *session, kind string, data any) {
	se.seq++
	raw := encode(obj{"op": opDispatch, "t": kind, "s": se.seq, "d": data})
	se.events = append(se.events, sentEvent{se.seq, raw})
	if se.conn != nil {
		se.conn.send(raw)
	}
	s.notify()
}

// Identifies returns the times at which connections have identified.
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

// WaitSessions waits until there are exactly n sessions, including those without a connection.
func (s *Server) WaitSessions(ctx context.Context, n int) error {
	return s.await(ctx, func() bool { return len(s.sessions) == n })
}

// Shards returns the shards of the sessions, each with the number of shards, in order.
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
