package mcp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/mcp"
	"sluice/policy/flow"
	"sluice/sessions"
)

// patience is how long a wait may take before it is a failure.
const patience = 20 * time.Second

// record is a log that tells those who wait for a text in it.
type record struct {
	mu      sync.Mutex
	text    strings.Builder
	written chan struct{}
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.written)
	r.written = make(chan struct{})
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// await waits until a text was written this many times. On a busy machine that may take long: the wait ends shortly
// before the time of the whole test run.
func (r *record) await(t *testing.T, text string, times int) {
	t.Helper()
	var deadline <-chan time.Time
	if end, ok := t.Deadline(); ok {
		deadline = time.After(time.Until(end) - 5*time.Second)
	}
	for {
		r.mu.Lock()
		has, written := strings.Count(r.text.String(), text) >= times, r.written
		r.mu.Unlock()
		if has {
			return
		}
		select {
		case <-written:
		case <-deadline:
			t.Fatalf("%q was not written %d times:\n%s", text, times, r.String())
		}
	}
}

const connected = `msg="MCP server is connected"`

// bundle is the client of some servers.
type bundle struct {
	*mcp.Servers
	log      *record
	registry *prometheus.Registry
}

// holding is a log that keeps who writes a text for the at-th time until it may go on.
type holding struct {
	slog.Handler
	text       string
	at         int32
	seen       atomic.Int32
	held, goOn chan struct{}
}

func (h *holding) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == h.text && h.seen.Add(1) == h.at {
		close(h.held)
		<-h.goOn
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h *holding) WithAttrs([]slog.Attr) slog.Handler { return h } // whose server it is does not matter

func start(t *testing.T, servers ...mcp.Server) *bundle {
	t.Helper()
	return paced(t, mcp.Pace{}, servers...)
}

func paced(t *testing.T, pace mcp.Pace, servers ...mcp.Server) *bundle {
	t.Helper()
	return bundled(t, pace, func(h slog.Handler) slog.Handler { return h }, servers...)
}

// bundled is paced with something before the log.
func bundled(t *testing.T, pace mcp.Pace, before func(slog.Handler) slog.Handler, servers ...mcp.Server) *bundle {
	t.Helper()
	pace.FirstBackoff, pace.Quiet = 10*time.Millisecond, time.Millisecond
	if pace.Farewell == 0 {
		pace.Farewell = 5 * time.Second
	}
	if pace.Connect == 0 {
		pace.Connect = time.Hour // a slow server is not what these tests are about
	}
	b := &bundle{log: &record{written: make(chan struct{})}, registry: prometheus.NewRegistry()}
	b.Servers = mcp.New(mcp.Config{Version: "test", Now: time.Now, Log: slog.New(before(slog.NewTextHandler(b.log, nil))), Registerer: b.registry, Pace: pace})
	b.Configure(servers)
	t.Cleanup(b.Stop)
	return b
}

// program is a server that runs as a child and behaves in some way.
func program(t *testing.T, name, how string) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return mcp.Server{
		Name: name, Command: []string{self}, Env: map[string]adapters.Secret{behaviour: adapters.Secret(how)},
		Classification: flow.Internal, Timeout: patience,
	}
}

func (b *bundle) names() []string {
	var names []string
	for _, t := range b.Tools() {
		names = append(names, t.Spec.Name)
	}
	return names
}

func (b *bundle) tool(t *testing.T, name string) sessions.Tool {
	t.Helper()
	for _, tool := range b.Tools() {
		if tool.Spec.Name == name {
			return tool
		}
	}
	t.Fatalf("there is no tool %s among %v", name, b.names())
	return sessions.Tool{}
}

// caller is one whose identity must never reach a server.
var caller = sessions.Caller{
	Session: "sess_identity", Key: "agent:identity:main", Agent: "identity", Run: "run_identity", CallID: "call_identity",
	Taint: flow.Bottom(), Clearance: flow.Restricted, Owner: true,
}

func (b *bundle) call(t *testing.T, name, args string) sessions.ToolResult {
	t.Helper()
	result, err := b.tool(t, name).Run(t.Context(), caller, json.RawMessage(args))
	require.NoError(t, err)
	return result
}

// later calls a tool beside the test.
func (b *bundle) later(ctx context.Context, t *testing.T, name string) <-chan sessions.ToolResult {
	t.Helper()
	tool, answered := b.tool(t, name), make(chan sessions.ToolResult, 1)
	go func() {
		result, err := tool.Run(ctx, caller, json.RawMessage(`{}`))
		if err != nil {
			result.Text = err.Error()
		}
		answered <- result
	}()
	return answered
}
