package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a [Server]. The zero value is fine for tests.
type Options struct {
	// Addr is the address to listen on; empty: a free port on loopback.
	Addr string
	// Key is the only accepted key; empty: any key is accepted, but not a missing one. [Server.Accept] changes it.
	Key string
	// Forget discards requests, for long benchmarks.
	Forget bool
}

// Server is the fake provider. Its goroutines are those of the HTTP server; Close waits for them. All methods are
// safe for concurrent use.
type Server struct {
	opts    Options
	url     string
	http    *http.Server
	serving sync.WaitGroup
	waiting atomic.Int64
	answers atomic.Int64 // source of ids
	closing context.Context
	stop    context.CancelFunc

	mu         sync.Mutex // guards the fields below
	keys       []string   // accepted ones; empty: all
	script     []Reply
	always     func(Request) Reply
	requests   []Request
	violations []string
	changed    chan struct{} // closed at the next change
}

// Start serves on loopback until [Server.Close], without options.
func Start() (*Server, error) { return NewServer(Options{}) }

// NewServer serves until [Server.Close].
func NewServer(opts Options) (*Server, error) {
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", opts.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for model fake: %w", err)
	}
	s := &Server{opts: opts, url: "http://" + ln.Addr().String(), always: Echo, changed: make(chan struct{})}
	if opts.Key != "" {
		s.keys = []string{opts.Key}
	}
	s.closing, s.stop = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.Handle("POST /v1/chat/completions", s.handler(chatAPI{}))
	mux.Handle("POST /v1/messages", s.handler(messagesAPI{}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.violate(r.Method + " " + r.URL.Path + ": there is no such call")
		http.NotFound(w, r)
	})
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	s.serving.Go(func() { _ = s.http.Serve(ln) }) // ends with ErrServerClosed at Close
	return s, nil
}

// OpenAIURL returns the base address for a Chat Completions client.
func (s *Server) OpenAIURL() string { return s.url + "/v1" }

// AnthropicURL returns the base address for a Messages client.
func (s *Server) AnthropicURL() string { return s.url }

// Accept changes which keys are accepted from now on.
func (s *Server) Accept(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = keys
}

func (s *Server) accepts(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return key != "" && (len(s.keys) == 0 || slices.Contains(s.keys, key))
}

// Enqueue sets the replies to the next requests, one each, before the function of Always is used.
func (s *Server) Enqueue(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, replies...)
}

// Always sets the function that answers requests without an enqueued reply; the default is [Echo]. It is called from
// many goroutines.
func (s *Server) Always(reply func(Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = reply
}

// Requests returns the accepted requests in the order of their arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Violations returns the broken rules of all requests, oldest first. It should be empty at the end of a test.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Waiting returns how many requests are in a delay, a pause or a stall now.
func (s *Server) Waiting() int { return int(s.waiting.Load()) }

// AwaitWaiting returns when at least n requests wait, or returns ctx's error.
func (s *Server) AwaitWaiting(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if s.Waiting() >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("await %d waiting requests, have %d: %w", n, s.Waiting(), context.Cause(ctx))
		}
	}
}

// Close ends every connection and waits for the server. It is idempotent.
func (s *Server) Close() {
	s.stop()
	_ = s.http.Close() // only closes listeners and connections
	s.serving.Wait()
}

func (s *Server) violate(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, what)
}

// next records a request and returns its reply.
func (s *Server) next(q Request) Reply {
	s.mu.Lock()
	if !s.opts.Forget {
		s.requests = append(s.requests, q)
	}
	if len(s.script) > 0 {
		defer s.mu.Unlock()
		reply := s.script[0]
		s.script = s.script[1:]
		return reply
	}
	always := s.always
	s.mu.Unlock()
	return always(q)
}

var errClosing = errors.New("the server is closing")

// wait waits for a time, or forever if it is negative.
func (s *Server) wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	s.mu.Lock()
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	var over <-chan time.Time // nil: never
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.closing.Done():
		return errClosing
	}
}

// requestMax limits a request's body, like the real services.
const requestMax = 32 << 20

// handler serves one API.
func (s *Server) handler(a api) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, requestMax))
		if err != nil {
			a.fail(w, Fail(http.StatusRequestEntityTooLarge, "request_too_large", err.Error()))
			return
		}
		if !s.accepts(a.key(r.Header)) {
			a.fail(w, Unauthorized())
			return
		}
		q, err := a.read(r.Header, raw)
		if err != nil {
			s.violate(r.URL.Path + ": " + err.Error())
			a.fail(w, Fail(http.StatusBadRequest, "invalid_request_error", err.Error()))
			return
		}
		q.Key = a.key(r.Header)
		s.serve(w, r, a, q)
	})
}

// serve gives a request its reply.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, a api, q Request) {
	reply := s.next(q)
	if s.wait(r.Context(), reply.Latency) != nil {
		return
	}
	if reply.Status != 0 {
		a.fail(w, reply)
		return
	}
	id := fmt.Sprintf("fake%d", s.answers.Add(1))
	s.stream(w, r, reply, a.events(id, q, reply))
}
