package slacktest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"sluice/adapters/adaptertest/wire"
)

// The credentials of the app, until [Server.Rotate] gives it others.
const (
	BotToken      = "xoxb-1-fake"
	AppToken      = "xapp-1-fake"
	SigningSecret = "8f742231b10e8888abcd99yyyzzz85a5"
)

// The ids of the app.
const (
	TeamID  = "T0001"
	BotUser = "U00BOT"
	BotID   = "B00BOT"
	BotName = "sluice"
)

// Options configure a server.
type Options struct {
	// Redeliver is the time after which an unconfirmed event is sent again; 0 for a second.
	Redeliver time.Duration
	// PingEvery is the time between two pings of a socket; 0 for half a second.
	PingEvery time.Duration
	// OnSent is called with each message that the app has posted or changed, before the response is sent.
	OnSent func(channel, text string)
	// HTTP posts events to the URL that [Server.Callback] sets, instead of sending them to sockets.
	HTTP bool
}

// Server is a fake Slack. Its goroutines, one that sends events and two for each socket, end with Close. It is safe for
// concurrent use.
type Server struct {
	opts    Options
	http    *httptest.Server
	network *wire.Listener
	specs   *specs
	closing context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	client  *http.Client // posts events

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at each change
	violations []string
	lastTS     time.Time
	revoked    bool
	bot, app   string // the tokens
	faults     []*Fault
	people     map[string]string // name by user id
	places     map[string]*place
	files      map[string]*file
	responses  map[string]string // channel by response id
	events     []*event
	given      map[string]*event // every event, by envelope
	nextID     int
	sockets    []*socket
	fewest     int // sockets that were open at once, since there were two
	answered   int // pings of the server
	asked      int // pings of the app
	callback   string
	posting    map[string]bool // conversations of which a request is in progress
	calls      map[string]int
}

// NewServer starts a server.
func NewServer(opts Options) (*Server, error) {
	if opts.Redeliver == 0 {
		opts.Redeliver = time.Second
	}
	if opts.PingEvery == 0 {
		opts.PingEvery = 500 * time.Millisecond
	}
	s := &Server{
		opts: opts, bot: BotToken, app: AppToken, changed: make(chan struct{}), client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 8}},
		people: map[string]string{BotUser: BotName}, places: map[string]*place{}, files: map[string]*file{},
		responses: map[string]string{}, given: map[string]*event{}, posting: map[string]bool{}, calls: map[string]int{},
	}
	var err error
	if s.specs, err = published(); err != nil {
		return nil, err
	}
	s.closing, s.cancel = context.WithCancel(context.Background())
	if s.network, err = wire.Listen(); err != nil {
		return nil, err
	}
	s.http = &httptest.Server{Listener: s.network, Config: &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}}
	s.http.Start()
	s.running.Go(s.giveOut)
	return s, nil
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/{method}", s.serveMethod)
	mux.HandleFunc("GET /socket/{ticket}", s.serveSocket)
	mux.HandleFunc("POST /respond/{id}", s.serveResponse)
	mux.HandleFunc("POST /upload/{id}", s.serveUpload)
	mux.HandleFunc("GET /files/{id}", s.serveFile)
	return mux
}

// Drop cuts all connections of the app.
func (s *Server) Drop() {
	s.lose()
	s.network.Drop()
}

// Deafen keeps the current connections of the app open, but sends and receives nothing through them.
func (s *Server) Deafen() {
	s.lose()
	s.network.Deafen()
}

// lose marks the open sockets as dead.
func (s *Server) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.sockets {
		c.lost = true
	}
}

// URL is the base of the Web API.
func (s *Server) URL() string { return s.http.URL + "/api/" }

// Callback sets where events are posted with [Options.HTTP].
func (s *Server) Callback(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callback = url
	s.notify()
}

// Close ends the server and its sockets.
func (s *Server) Close() {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.network.Drop()
	s.running.Wait()
	s.client.CloseIdleConnections()
	s.http.CloseClientConnections()
	s.http.Close()
}

// start runs f on a goroutine that Close waits for. It returns false if the server is already closing. The caller holds mu.
func (s *Server) start(f func()) bool {
	if s.closing.Err() != nil {
		return false
	}
	s.running.Go(f)
	return true
}

// Violations lists the requests so far that break Slack's published rules.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Calls returns how often a method was called.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Revoke makes the token invalid, and sends the app the event for that.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
	s.tell("", "", eventsAPI, callbackOf(object{"type": "tokens_revoked", "tokens": object{"bot": []string{BotUser}}}, s.id("Ev")))
}

// Rotate gives the app other tokens; those before are invalid at once, and their sockets end.
func (s *Server) Rotate(bot, app string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bot, s.app = bot, app
	for _, c := range s.sockets {
		_ = c.ws.Close() // it may be closed already
	}
}

// violate notes a violation. The caller does not hold mu.
func (s *Server) violate(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// notify wakes all waiters. The caller holds mu.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait returns when ready returns true. It calls ready with mu held, after each change.
func (s *Server) wait(ctx context.Context, ready func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := ready(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// id makes a new id. The caller holds mu.
func (s *Server) id(prefix string) string {
	s.nextID++
	return fmt.Sprintf("%s%06d", prefix, s.nextID)
}

// ts makes the unique timestamp of a message. The caller holds mu.
func (s *Server) ts() string {
	now := time.Now().Truncate(time.Microsecond)
	if !now.After(s.lastTS) {
		now = s.lastTS.Add(time.Microsecond)
	}
	s.lastTS = now
	return fmt.Sprintf("%d.%06d", now.Unix(), now.Nanosecond()/1000)
}
