package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"sluice/adapters"
	"sluice/internal/pause"
	"sluice/policy/flow"
	"sluice/sessions"
)

const (
	healthyAfter = time.Minute // a connection that lasts this long resets the backoff
	// callsMax is how many calls one server handles at once; others wait within their time limit.
	callsMax = 16
)

// server keeps the connection to one server. Its goroutine is run; the other methods are called by many goroutines.
type server struct {
	Server
	cfg     Config
	metrics *metrics
	cancel  context.CancelFunc
	slots   chan struct{} // one per call in progress

	legacy bool // used by run only: the next connection starts in the way that old servers expect

	tried     chan struct{} // closed when the first connection attempt has succeeded or failed
	triedOnce sync.Once

	mu      sync.Mutex
	retired bool        // the server was replaced or removed: it no longer has a connection, and the metric belongs to its successor
	conn    *connection // nil while not connected
	tools   []sessions.Tool
	state   State
}

func newServer(c Server, cfg Config, m *metrics, cancel context.CancelFunc) *server {
	cfg.Log = cfg.Log.With("mcp_server", c.Name)
	m.up.WithLabelValues(c.Name).Set(0)
	return &server{
		Server: c, cfg: cfg, metrics: m, cancel: cancel, slots: make(chan struct{}, callsMax),
		tried: make(chan struct{}), state: State{Name: c.Name, Status: adapters.Connecting, Level: c.Classification},
	}
}

// label returns the label of everything from the server.
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

// run connects repeatedly until ctx ends.
func (v *server) run(ctx context.Context) {
	defer v.set(adapters.Stopped, "")
	pauses := pause.Doubling(v.cfg.Pace.FirstBackoff, v.cfg.Pace.BackoffMax, 0)
	for {
		v.set(adapters.Connecting, "")
		started := v.cfg.Now()
		err := v.serveGuarded(ctx)
		if ctx.Err() != nil {
			return
		}
		if v.cfg.Now().Sub(started) > healthyAfter {
			pauses.Reset()
		}
		wait := pauses.NextBackOff()
		v.cfg.Log.Warn("MCP server is not connected; trying again", "err", err, "retry_in", wait.String())
		v.set(adapters.Retrying, bounded(plain(err.Error()), detailMax))
		v.attempted()
		if pause.Wait(ctx, wait) != nil {
			return
		}
		v.mu.Lock()
		v.state.Restarts++
		v.mu.Unlock()
		v.metrics.restarts.WithLabelValues(v.Name).Inc()
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

// serve makes one connection and uses it until it ends. It always returns the reason of the end.
func (v *server) serve(ctx context.Context) error {
	conn, err := v.connect(ctx)
	if err != nil {
		v.legacy = !v.legacy // an old server may not answer a request that it does not know
		return err
	}
	defer conn.close()
	if err := v.list(ctx, conn); err != nil {
		return err
	}
	defer v.lose()
	return v.watch(ctx, conn)
}

// keep makes a connection and its tools available to calls and agents.
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

// attempted reports that the result of the first connection attempt is known.
func (v *server) attempted() { v.triedOnce.Do(func() { close(v.tried) }) }

// lose removes the connection and its tools.
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

// retire ends the server for good. Its declarations are void, and its remaining activity is invisible.
func (v *server) retire() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.drop()
	if !v.retired {
		v.metrics.up.DeleteLabelValues(v.Name)
	}
	v.retired = true
	v.cancel()
}

// pingsMax is how many pings in a row may stay unanswered.
const pingsMax = 2

// watch lists the tools again when they change, and checks whether the server still answers.
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
			// A server that keeps reporting changes must not be listed without pauses.
			if pause.Wait(conn.life, v.cfg.Pace.Quiet) != nil {
				return context.Cause(conn.life)
			}
		case <-ticker.C:
			if len(v.slots) > 0 {
				continue // a server that handles a call need not answer pings
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
