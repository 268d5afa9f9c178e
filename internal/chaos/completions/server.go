// Package completions is a Chat Completions server for kill tests and
// benchmarks: it answers what was said last with its echo, slowly, in pieces,
// after a tool call, or at length, as its options and words in the message ask.
//
// Words in a message: "[tool]" asks for a tool call before the answer, "[slow]"
// for an answer that takes [Options.Slow], "[long]" for one of several platform messages.
package completions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the settings of a [Server].
type Options struct {
	// Addr is where to listen; empty for a free port on loopback.
	Addr string
	// Slow is how long an answer to a message with "[slow]" takes from its first piece to its last.
	Slow time.Duration
	// Silence is how long every answer waits before its first byte.
	Silence time.Duration
	// Tool is the name of the tool that "[tool]" asks for; it is called with no arguments.
	Tool string
}

// Server is the fake. Its goroutines are the HTTP server's, awaited by Close.
type Server struct {
	opts    Options
	http    *http.Server
	url     string
	serving sync.WaitGroup
	waiting atomic.Int64
	closing context.Context
	stop    context.CancelFunc
}

// NewServer listens and serves until [Server.Close].
func NewServer(opts Options) (*Server, error) {
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", opts.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for completions fake: %w", err)
	}
	s := &Server{opts: opts, url: "http://" + ln.Addr().String() + "/v1"}
	s.closing, s.stop = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	s.serving.Go(func() { _ = s.http.Serve(ln) }) // ends with ErrServerClosed at Close
	return s, nil
}

// URL is the server's base address, for the provider's baseURL.
func (s *Server) URL() string { return s.url }

// Waiting is how many requests are in their silence now.
func (s *Server) Waiting() int { return int(s.waiting.Load()) }

// Close ends every connection and waits for the server.
func (s *Server) Close() {
	s.stop()
	_ = s.http.Close() // only closes listeners and connections
	s.serving.Wait()
}

// maxRequest bounds a request's body.
const maxRequest = 16 << 20

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	var req request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.waiting.Add(1)
	err := s.wait(r.Context(), s.opts.Silence)
	s.waiting.Add(-1)
	if err != nil {
		return
	}
	st := &stream{w: w, pieces: req.Stream}
	plan := s.plan(&req)
	if !req.Stream {
		plan.every = 0
	}
	w.Header().Set("Content-Type", st.contentType())
	st.begin()
	if plan.tool != "" {
		st.callTool(plan.tool, plan.callID)
		return
	}
	for i, text := range plan.texts {
		if i > 0 && s.wait(r.Context(), plan.every) != nil {
			return // the gateway has gone
		}
		st.text(text)
	}
	st.end("stop")
}

// LongLines is how many numbered lines an answer to a message with "[long]" has
// after its echo: enough for several platform messages.
const LongLines = 240

// LongLine is the n-th of them, from 1.
func LongLine(n int) string {
	return fmt.Sprintf("Line %03d makes the answer longer than one platform message.", n)
}

func longTail() string {
	var b strings.Builder
	for n := range LongLines {
		b.WriteString("\n\n" + LongLine(n+1))
	}
	return b.String()
}

var errClosing = errors.New("server is closing")

func (s *Server) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.closing.Done():
		return errClosing
	}
}

// slowPieces is how many pieces a slow answer has.
const slowPieces = 25

// plan is what is answered to a request.
type plan struct {
	tool   string // the tool to be called; empty for an answer
	callID string
	texts  []string
	every  time.Duration
}

func (s *Server) plan(req *request) plan {
	asked := req.pending()
	all := strings.Join(asked, "\n")
	if strings.Contains(all, "[tool]") && !req.toolAnswered() {
		return plan{tool: s.opts.Tool, callID: fmt.Sprintf("call_%d", len(req.Messages))}
	}
	var lines []string
	for _, text := range asked {
		lines = append(lines, "echo: "+text)
	}
	answer := strings.Join(lines, "\n\n")
	if strings.Contains(all, "[long]") {
		answer += longTail()
	}
	p := plan{texts: []string{answer}}
	if strings.Contains(all, "[slow]") {
		for range slowPieces {
			p.texts = append(p.texts, " And more.")
		}
		p.every = s.opts.Slow / slowPieces
	}
	return p
}
