package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/sessions"
)

const (
	healthyAfter = time.Minute // a connection this long starts the backoff over
	// callsMax is how many calls one server works on at once; others wait within their time.
	callsMax = 16
)

// server keeps the connection to one server. Its goroutine is run; the other methods are called from many.
type server struct {
	Server
	cfg     Config
	metrics *metrics
	cancel  context.CancelFunc
	slots   chan struct{} // one for each call in progress

	legacy bool // of run alone: the next connection begins as servers of old expect it

	tried     chan struct{} // closed when the first connection stands, or has failed
	triedOnce sync.Once

	mu      sync.Mutex
	retired bool        // another stands in its place, or none: it has no connection any more, and its gauge is not its own
	conn    *connection // nil while not connected
	tools   []sessions.Tool
	state   State
}

func newServer(c Server, cfg Config, m *metrics, cancel context.CancelFunc) *server {
	cfg.Log = cfg.Log.With("mcp_server", c.Name)
	return &server{
		Server: c, cfg: cfg, metrics: m, cancel: cancel, slots: make(chan struct{}, callsMax),
		tried: make(chan struct{}), state: State{Name: c.Name, Status: adapters.Connecting, Level: c.Classification},
	}
}

// label is that of all that the server says.
func (v *server) label() flow.Label {
	if v.Trusted {
		return flow.NewLabel(v.Classification, flow.Trusted)
	}
	return flow.NewLabel(v.Classification, flow.Untrusted)
}

func (v *server) offered() []sessions.Tool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.tools
}

func (v *server) current() State {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.state
}

func (v *server) set(status adapters.Status, detail string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state.Status, v.state.Detail = status, detail
}

// run connects again and again until ctx ends.
func (v *server) run(ctx context.Context) {
	defer v.set(adapters.Stopped, "")
	wait := v.cfg.Pace.FirstBackoff
	for {
		v.set(adapters.Connecting, "")
		started := v.cfg.Now()
		err := v.serveGuarded(ctx)
		if ctx.Err() != nil {
			return
		}
		if v.cfg.Now().Sub(started) > healthyAfter {
			wait = v.cfg.Pace.FirstBackoff
		}
		v.cfg.Log.Warn("MCP server is not connected; trying again", "err", err, "retry_in", wait.String())
		v.set(adapters.Retrying, bounded(plain(err.Error()), detailMax))
		v.attempted()
		if !adapters.Sleep(ctx, wait) {
			return
		}
		v.mu.Lock()
		v.state.Restarts++
		v.mu.Unlock()
		v.metrics.restarts.WithLabelValues(v.Name).Inc()
		wait = min(2*wait, v.cfg.Pace.BackoffMax)
	}
}

func (v *server) serveGuarded(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return v.serve(ctx)
}

// serve makes one connection and stays with it to its end. It always gives the reason of the end.
func (v *server) serve(ctx context.Context) error {
	conn, err := v.connect(ctx)
	if err != nil {
		v.legacy = !v.legacy // one of old may not answer what it does not know
		return err
	}
	defer conn.close()
	if err := v.list(ctx, conn); err != nil {
		return err
	}
	defer v.lose()
	return v.watch(ctx, conn)
}

// keep lets calls and agents have a connection and its tools.
func (v *server) keep(conn *connection, tools []sessions.Tool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.retired {
		return
	}
	v.conn, v.tools = conn, tools
	v.state.Status, v.state.Detail = adapters.Connected, fmt.Sprintf("%d tools", len(tools))
	v.metrics.up.WithLabelValues(v.Name).Set(1)
	v.attempted()
}

// attempted notes that it is known how the first connection went.
func (v *server) attempted() { v.triedOnce.Do(func() { close(v.tried) }) }

// lose takes the connection and its tools away.
func (v *server) lose() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.drop()
}

// drop is lose with the lock held.
func (v *server) drop() {
	v.conn, v.tools = nil, nil
	if !v.retired {
		v.metrics.up.WithLabelValues(v.Name).Set(0)
	}
}

// retire ends the server for good. What was declared of it holds no more, and what it still does until it is gone is seen by nobody.
func (v *server) retire() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.drop()
	v.retired = true
	v.cancel()
}

// pingsMax is how many looks in a row may stay without an answer.
const pingsMax = 2

// watch lists the tools again when they change, and looks whether the server still answers.
func (v *server) watch(ctx context.Context, conn *connection) error {
	ticker := time.NewTicker(v.cfg.Pace.Ping)
	defer ticker.Stop()
	silent := 0
	for {
		select {
		case <-conn.life.Done():
			return context.Cause(conn.life)
		case <-conn.changed:
			if err := v.list(ctx, conn); err != nil {
				return err
			}
			// A server that says so without a pause must not be listed without one.
			if !adapters.Sleep(conn.life, v.cfg.Pace.Quiet) {
				return context.Cause(conn.life)
			}
		case <-ticker.C:
			if len(v.slots) > 0 {
				continue // one that works on a call need not answer anything else in the meantime
			}
			if silent++; conn.answers(ctx, v.cfg.Pace.Ping) {
				silent = 0
			}
			if silent >= pingsMax {
				return errors.New("it no longer responds")
			}
		}
	}
}
