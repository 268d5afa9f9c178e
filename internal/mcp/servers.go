package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Server is one configured server.
type Server struct {
	Name    string                     // in its tools' names; a-z 0-9 -
	Command []string                   // a program with its arguments that speaks on stdin and stdout
	URL     adapters.Secret            // of a server over streamable HTTP, where there is no Command; it may have a key in it
	Env     map[string]adapters.Secret // environment of Command, besides PATH and HOME
	Headers map[string]adapters.Secret // sent with each request to URL
	// Classification is the highest level that it may be told, and the level of what it says.
	Classification flow.Level
	Trusted        bool     // what it says is the owner's own word
	Allow, Deny    []string // its tools, by its own names or patterns with *; no Allow is all
	Timeout        time.Duration
}

// Config has the dependencies of Servers. All fields but Pace are required.
type Config struct {
	Version    string // of the gateway
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
	Pace       Pace
}

// Pace says how long things take; what is zero has a default.
type Pace struct {
	Connect      time.Duration // for a connection and its first list of tools; default 30 s
	FirstBackoff time.Duration // after a connection's end, doubled each time; default 1 s
	BackoffMax   time.Duration // default 1 min
	Ping         time.Duration // between looks whether an idle server still answers; default 30 s
	Quiet        time.Duration // between two lists of tools at least; default 1 s
	Farewell     time.Duration // for a program to end when asked, twice; default 1 s
}

func (p Pace) complete() Pace {
	p.Connect = cmp.Or(p.Connect, 30*time.Second)
	p.FirstBackoff = cmp.Or(p.FirstBackoff, time.Second)
	p.BackoffMax = cmp.Or(p.BackoffMax, time.Minute)
	p.Ping = cmp.Or(p.Ping, 30*time.Second)
	p.Quiet = cmp.Or(p.Quiet, time.Second)
	p.Farewell = cmp.Or(p.Farewell, time.Second)
	return p
}

// State is how a server is doing.
type State struct {
	Name     string
	Status   adapters.Status
	Detail   string     // what is wrong; or how many tools it has
	Level    flow.Level // of Detail, in which words of the server may be
	Restarts int
}

// Servers are all configured servers. It is safe for concurrent use.
type Servers struct {
	cfg     Config
	metrics *metrics
	wg      sync.WaitGroup

	mu      sync.Mutex
	running map[string]*server
	stopped bool
}

// New makes Servers without any; nothing runs before [Servers.Configure].
func New(cfg Config) *Servers {
	cfg.Pace = cfg.Pace.complete()
	return &Servers{cfg: cfg, metrics: newMetrics(cfg.Registerer), running: map[string]*server{}}
}

// Configure begins to keep connections to these servers, and ends those to all others. One
// that has not changed is left alone. It waits for nothing.
func (s *Servers) Configure(servers []Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	wanted := map[string]Server{}
	for _, c := range servers {
		wanted[c.Name] = c
	}
	for name, old := range s.running {
		if c, ok := wanted[name]; ok && reflect.DeepEqual(c, old.Server) {
			delete(wanted, name)
			continue
		}
		old.retire()
		delete(s.running, name)
	}
	for name, c := range wanted {
		s.running[name] = s.start(c)
	}
}

func (s *Servers) start(c Server) *server {
	ctx, cancel := context.WithCancel(context.Background())
	v := newServer(c, s.cfg, s.metrics, cancel)
	s.wg.Go(func() { v.run(ctx) })
	return v
}

// Tools are the tools of the servers that are connected now, in the order of their names.
func (s *Servers) Tools() []sessions.Tool {
	var tools []sessions.Tool
	for _, v := range s.all() {
		tools = append(tools, v.offered()...)
	}
	return tools
}

// Tried waits until each server has been tried once, or ctx ends.
func (s *Servers) Tried(ctx context.Context) {
	for _, v := range s.all() {
		select {
		case <-v.tried:
		case <-ctx.Done():
			return
		}
	}
}

// States says how each server is doing, in the order of their names.
func (s *Servers) States() []State {
	all := s.all()
	states := make([]State, len(all))
	for i, v := range all {
		states[i] = v.current()
	}
	return states
}

func (s *Servers) all() []*server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.running), func(a, b *server) int { return cmp.Compare(a.Name, b.Name) })
}

// Stop ends all connections and programs and waits for them, a few seconds at most. It is idempotent.
func (s *Servers) Stop() {
	s.mu.Lock()
	s.stopped = true
	for _, v := range s.running {
		v.cancel()
	}
	s.mu.Unlock()
	s.wg.Wait()
}
