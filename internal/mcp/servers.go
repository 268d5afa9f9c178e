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

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Server is one configured server.
type Server struct {
	Name    string                     // used in the names of its tools; a-z 0-9 -
	Command []string                   // a program with arguments that communicates over stdin and stdout
	URL     adapters.Secret            // of a server over streamable HTTP, if there is no Command; it may contain a key
	Env     map[string]adapters.Secret // environment of Command, besides PATH and HOME
	Headers map[string]adapters.Secret // sent with each request to URL
	// Classification is the highest level of data that the server may get, and the level of its answers.
	Classification flow.Level
	Trusted        bool     // its answers are as trusted as the owner's words
	Allow, Deny    []string // its tools, by their own names or patterns with *; an empty Allow allows all
	Timeout        time.Duration
	// Link is the connection of a server that has connected itself, instead of Command and URL. It ends with its first failure.
	Link sdk.Transport
}

// Config has the dependencies of Servers. All fields but Pace are required.
type Config struct {
	Version    string // of the gateway
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
	Pace       Pace
}

// Pace has the timing. Zero values have defaults.
type Pace struct {
	Connect      time.Duration // for a connection and its first tool list; default 30 s
	FirstBackoff time.Duration // after a connection has ended, doubled each time; default 1 s
	BackoffMax   time.Duration // default 1 min
	Ping         time.Duration // between two pings of an idle server; default 30 s
	Quiet        time.Duration // minimum time between two tool lists; default 1 s
	Farewell     time.Duration // for a program to end after each of two requests; default 1 s
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

// State is the state of a server.
type State struct {
	Name     string
	Status   adapters.Status
	Detail   string     // what is wrong, or the number of tools
	Level    flow.Level // level of Detail, which may contain texts of the server
	Restarts int
}

// Servers manages all configured servers. It is safe for concurrent use.
type Servers struct {
	cfg     Config
	metrics *metrics
	wg      sync.WaitGroup

	mu      sync.Mutex
	running map[string]*server
	guests  map[string]*server // servers that have connected themselves
	stopped bool
}

// New creates Servers without any server; nothing runs before [Servers.Configure].
func New(cfg Config) *Servers {
	cfg.Pace = cfg.Pace.complete()
	return &Servers{cfg: cfg, metrics: newMetrics(cfg.Registerer), running: map[string]*server{}, guests: map[string]*server{}}
}

// Configure starts connections to these servers and ends those to all others. Unchanged servers keep their
// connections. It does not wait.
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

// Attach adds a server that has connected itself, until detach is called. It has a configured server's limits, and its name
// must not be that of a configured one.
func (s *Servers) Attach(c Server) (detach func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return func() {}
	}
	if old := s.guests[c.Name]; old != nil {
		old.retire()
	}
	v := s.start(c)
	s.guests[c.Name] = v
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		v.retire()
		if s.guests[c.Name] == v {
			delete(s.guests, c.Name)
		}
	}
}

// Tools returns the tools of the connected servers, in the order of their names.
func (s *Servers) Tools() []sessions.Tool {
	var tools []sessions.Tool
	for _, v := range s.all() {
		tools = append(tools, v.offered()...)
	}
	return tools
}

// Tried waits until the first connection attempt of each server is over, or ctx ends.
func (s *Servers) Tried(ctx context.Context) {
	for _, v := range s.all() {
		select {
		case <-v.tried:
		case <-ctx.Done():
			return
		}
	}
}

// States returns the state of each server, in the order of their names.
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
	all := slices.AppendSeq(slices.Collect(maps.Values(s.running)), maps.Values(s.guests))
	slices.SortFunc(all, func(a, b *server) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Stop ends all connections and programs and waits for them, at most a few seconds. It is idempotent.
func (s *Servers) Stop() {
	s.mu.Lock()
	s.stopped = true
	for _, v := range s.running {
		v.cancel()
	}
	for _, v := range s.guests {
		v.cancel()
	}
	s.mu.Unlock()
	s.wg.Wait()
}
