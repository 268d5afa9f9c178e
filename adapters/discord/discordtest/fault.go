package discordtest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"sluice/adapters"
	"sluice/adapters/adaptertest"
	"sluice/sessions"
)

// fault is a failure of calls that post a message.
type fault struct {
	adaptertest.Fault
	left   int
	answer string // instead of the call, with status 200; empty for what Kind says
}

// Fault makes the next call that posts a message fail.
func (s *Server) Fault(f adaptertest.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{Fault: f, left: max(1, f.Times)})
}

// Misdate implements adaptertest.Misdater. The id of a message contains its time.
func (s *Server) Misdate() adapters.Receipt {
	const id int64 = 1174000000000000000
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{left: 1, answer: fmt.Sprintf(`{"id":"%d","channel_id":"500","content":"hello","timestamp":1700000000000}`, id)})
	return adapters.Receipt{MessageID: sessions.PlatformMessageID(strconv.FormatInt(id, 10)), At: time.UnixMilli(id>>22 + discordEpoch)}
}

func (s *Server) takeFault(rt route) *fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !rt.posts || len(s.faults) == 0 {
		return nil
	}
	f := s.faults[0]
	if f.left--; f.left == 0 {
		s.faults = s.faults[1:]
	}
	return f
}

// before misbehaves instead of the call, and reports whether the call takes effect nevertheless.
func (f *fault) before(c *call) bool {
	if f.answer != "" {
		c.answered(http.StatusOK)
		_, _ = c.w.Write([]byte(f.answer)) // the caller may have gone
		return false
	}
	switch f.Kind {
	case adaptertest.RateLimited:
		tooMany(c, max(f.After, time.Millisecond), false)
	case adaptertest.ServerError:
		c.refuse(http.StatusInternalServerError, 0, "500: Internal Server Error")
	case adaptertest.Garbage:
		c.answered(http.StatusBadGateway)
		c.w.Header().Set("Content-Type", "text/html")
		c.w.WriteHeader(http.StatusBadGateway)
		_, _ = c.w.Write([]byte("<html>bad gateway</html>")) // the caller may have gone
	case adaptertest.Hang:
		select {
		case <-c.r.Context().Done():
		case <-c.closing.Done():
		}
	case adaptertest.ResetBefore:
		sever(c.w)
	case adaptertest.Refused:
		c.refuse(http.StatusNotFound, 10003, "Unknown Channel")
	case adaptertest.ResetAfter:
		return true
	}
	return false
}

// sever cuts the connection without a response.
func sever(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // it can't be hijacked: cut it so
	}
	_ = conn.Close() // that is the fault
}

// nowhere discards a response.
type nowhere struct{ header http.Header }

// Header implements http.ResponseWriter.
func (n nowhere) Header() http.Header { return n.header }

// Write implements http.ResponseWriter.
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (nowhere) WriteHeader(int) {}

// Revoke makes the token invalid: calls are refused, and connections closed.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
	clear(s.sessions)
	for c := range s.conns {
		c.end(closeBadToken)
	}
}

func (s *Server) isRevoked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revoked
}

// DropConnections cuts all connections without a close code. Gateway sessions can be resumed.
func (s *Server) DropConnections() { s.wire.Drop() }

// Deafen keeps the current connections open, but sends and receives nothing through them.
func (s *Server) Deafen() { s.wire.Deafen() }

// Deaden keeps gateway connections open and does not answer their heartbeats. Events are still sent.
func (s *Server) Deaden() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.dead = true
	}
}

// CloseGateway closes all connections with a code. Their sessions can be resumed, unless the code says otherwise.
func (s *Server) CloseGateway(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.end(code)
	}
}

// RefuseIdentify closes each connection that identifies with a code; 0 ends that.
func (s *Server) RefuseIdentify(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = code
}

// Mute withholds Hello from new connections, until it is called with false.
func (s *Server) Mute(mute bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = mute
}

// Reconnect asks all connections to connect again (operation 7).
func (s *Server) Reconnect() { s.broadcast(encode(obj{"op": opReconnect, "d": nil})) }

// ForgetSessions ends all sessions. It sends operation 9 to their connections, and to those that try to resume. Messages of
// the meantime can only be fetched.
func (s *Server) ForgetSessions() {
	s.mu.Lock()
	clear(s.sessions)
	s.mu.Unlock()
	s.broadcast(encode(obj{"op": opInvalid, "d": false}))
}

// AskHeartbeat asks all connections for an immediate heartbeat.
func (s *Server) AskHeartbeat() { s.broadcast(encode(obj{"op": opHeartbeat, "d": nil})) }

// SendRaw sends a payload unchanged to all connections.
func (s *Server) SendRaw(payload string) { s.broadcast([]byte(payload)) }

func (s *Server) broadcast(raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.send(raw)
	}
}

// Exhaust lets a channel accept only one more message for some time.
func (s *Server) Exhaust(channelID string, reset time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exhaust[channelID] = reset
}

// LimitGlobally refuses all calls for some time.
func (s *Server) LimitGlobally(wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.global = time.Now().Add(wait)
}

// WaitFree waits until a channel may be posted to again.
func (s *Server) WaitFree(ctx context.Context, channelID string) error {
	s.mu.Lock()
	left := time.Until(s.limits[channelID])
	s.mu.Unlock()
	select {
	case <-time.After(left):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
