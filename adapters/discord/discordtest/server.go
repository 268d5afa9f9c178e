package discordtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters/adaptertest/wire"
)

// DefaultToken is the token of a server without Options.Token.
const DefaultToken = "MTAwMDAwMA.test.token-of-the-default-bot"

// Options are the settings of a [Server]. The zero value is fine for tests.
type Options struct {
	Token     string        // empty for [DefaultToken]
	Heartbeat time.Duration // what Hello asks for; 0 for 40 seconds, near Discord's 41.25
	// Shards and MaxConcurrency are what GET /gateway/bot recommends; 0 for 1.
	Shards, MaxConcurrency int
	// NoContent: the Message Content intent is off. A bot that asks for it is refused.
	NoContent bool
	// HideContent is like NoContent, but the bot is accepted and its messages have no text.
	HideContent bool
	// HistoryNonces adds the nonce to fetched messages. Discord does not promise it.
	HistoryNonces bool
	// BeforeAck is called before the first response to an interaction takes effect. It may wait.
	BeforeAck func()
	// OnSent is called for each message of the bot that was posted or changed, before its
	// response. It must be quick, and safe for concurrent use.
	OnSent func(Message)
}

// Server is the fake. All methods are safe for concurrent use.
type Server struct {
	opts  Options
	specs *specs
	http  *http.Server
	wire  *wire.Listener
	url   string

	mu         sync.Mutex // guards all that follows
	world      world
	sessions   map[string]*session
	conns      map[*conn]bool
	mute       bool // no Hello
	refuse     int  // identify is answered by closing with this code
	beats      int
	resumes    int
	typed      map[string]int // channel to how often typing was shown
	identified []time.Time
	held       []func() // events from before the first identify
	calls      []Call
	commands   []byte
	faults     []*fault
	limits     map[string]time.Time // channel to when it may be posted to again
	exhaust    map[string]time.Duration
	global     time.Time
	violations []string
	revoked    bool
	changed    chan struct{} // closed at the next change
	nextID     uint64

	closing context.Context
	close   context.CancelFunc
	wg      sync.WaitGroup // HTTP serve loop
}

// Call is one received REST request.
type Call struct {
	Method, Path, Query string
	Body                []byte // JSON; payload_json where it came as a form
	Status              int    // 0 while or if it was not answered
}

// Start starts a server that stops with the test.
func Start(t testing.TB, opts Options) *Server {
	t.Helper()
	s, err := NewServer(opts)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// NewServer listens and serves until [Server.Close].
func NewServer(opts Options) (*Server, error) {
	if opts.Token == "" {
		opts.Token = DefaultToken
	}
	if opts.Heartbeat == 0 {
		opts.Heartbeat = 40 * time.Second
	}
	opts.Shards, opts.MaxConcurrency = max(1, opts.Shards), max(1, opts.MaxConcurrency)
	sp, err := loadSpecs()
	if err != nil {
		return nil, err
	}
	ln, err := wire.Listen()
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts: opts, specs: sp, wire: ln, url: "http://" + ln.Addr().String(), sessions: map[string]*session{}, conns: map[*conn]bool{}, typed: map[string]int{},
		limits: map[string]time.Time{}, exhaust: map[string]time.Duration{}, changed: make(chan struct{}), commands: []byte("[]"),
	}
	s.world = newWorld()
	s.closing, s.close = context.WithCancel(context.Background())
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	s.wg.Go(func() { _ = s.http.Serve(ln) }) // ends with ErrServerClosed at Close
	return s, nil
}

// URL is the address of the REST API, for the adapter's APIBase.
func (s *Server) URL() string { return s.url + "/api/v10" }

// GatewayURL is the address of the gateway, for the adapter's GatewayURL; GET /gateway/bot returns the same.
func (s *Server) GatewayURL() string { return "ws" + strings.TrimPrefix(s.url, "http") + "/gateway" }

// Token is the bot's token.
func (s *Server) Token() string { return s.opts.Token }

// Close ends every connection and waits for all goroutines. It is idempotent.
func (s *Server) Close() {
	s.close()
	s.wire.Drop()      // websockets too, which the server has let go of
	_ = s.http.Close() // only closes listeners and connections
	s.wg.Wait()
}

// notify wakes the caller that waits for a change. The caller holds mu.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until holds returns true. It calls holds with mu held.
func (s *Server) await(ctx context.Context, holds func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := holds(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.closing.Done():
			return net.ErrClosed
		}
	}
}

// violate records a violation of Discord's published rules.
func (s *Server) violate(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// Violations lists the requests that violate Discord's published description or limits.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.violations...)
}

// Calls returns the REST requests whose path contains part, in order.
func (s *Server) Calls(part string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if strings.Contains(c.Path, part) {
			out = append(out, c)
		}
	}
	return out
}

// WaitCalls waits until there are n calls whose method and path ("POST /channels/1/messages") contain part.
func (s *Server) WaitCalls(ctx context.Context, part string, n int) error {
	return s.await(ctx, func() bool {
		found := 0
		for _, c := range s.calls {
			if c.Status != 0 && strings.Contains(c.Method+" "+c.Path, part) {
				found++
			}
		}
		return found >= n
	})
}
