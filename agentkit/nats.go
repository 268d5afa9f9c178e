package agentkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/nats-io/nkeys"
	"github.com/nats-io/nuid"
)

// Options say how a program connects as an agent of kind nats.
type Options struct {
	Agent   string // its id in the gateway's configuration; required
	URL     string // nats://host:port, several with commas between them; required
	Seed    string // of the nkey whose public key the configuration names: SU…
	Version string // as MAJOR.MINOR.PATCH; default 0.0.0
	// Concurrency is the number of runs that are worked at the same time. Others wait. Default 16.
	Concurrency int
	// NATS are further options of the connection, such as a credentials file or TLS.
	NATS []nats.Option
	// OnReady is called once the instance waits for turns; may be nil.
	OnReady func()
	// OnError is told of failures that belong to no run; nil: they are not reported.
	OnError func(error)
}

const (
	defaultConcurrency = 16
	// waitingMax is the number of runs that this instance has taken, worked or waiting. Beyond it, turns fail and may be
	// asked for again.
	waitingMax = 1000
	flushTime  = 5 * time.Second
)

// Serve connects to the bus and works the agent's turns until ctx ends. Then it waits for the handlers to return. If the
// connection is lost, it reconnects.
func Serve(ctx context.Context, o Options, handle Handler) error {
	s, err := newService(ctx, o, handle)
	if err != nil {
		return err
	}
	defer s.conn.Close()
	if err := s.register(); err != nil {
		return err
	}
	if o.OnReady != nil {
		o.OnReady()
	}
	<-ctx.Done()
	_ = s.micro.Stop() // fails only if the connection is closed
	s.work.Wait()
	return s.conn.FlushTimeout(flushTime)
}

// service is one instance of an agent on the bus.
type service struct {
	Options
	ctx    context.Context
	handle Handler
	conn   *nats.Conn
	micro  micro.Service
	at     string        // of this instance
	slots  chan struct{} // one for each run that is worked
	work   sync.WaitGroup

	mu   sync.Mutex
	runs map[string]*taken // by the run's id
}

// taken is a run that this instance works.
type taken struct {
	ctx    context.Context    // of the handler
	turn   string             // the newest
	waits  bool               // for the turn with the results of its calls
	next   chan incoming      // capacity 1
	cancel context.CancelFunc // of the handler
}

func newService(ctx context.Context, o Options, handle Handler) (*service, error) {
	if o.Agent == "" || o.URL == "" || handle == nil {
		return nil, errors.New("serve agent: Agent, URL and a handler are required")
	}
	if o.Version == "" {
		o.Version = "0.0.0"
	}
	if o.Concurrency <= 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	s := &service{Options: o, ctx: ctx, handle: handle, at: nuid.Next(), slots: make(chan struct{}, o.Concurrency), runs: map[string]*taken{}}
	options := append([]nats.Option{
		nats.Name("agent " + o.Agent), nats.MaxReconnects(-1), nats.CustomInboxPrefix("_INBOX." + o.Agent),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { o.OnError(err) }),
	}, o.NATS...)
	if o.Seed != "" {
		option, err := byNkey(o.Seed)
		if err != nil {
			return nil, err
		}
		options = append(options, option)
	}
	var err error
	if s.conn, err = nats.Connect(o.URL, options...); err != nil {
		return nil, fmt.Errorf("connect agent %s to the bus: %w", o.Agent, err)
	}
	return s, nil
}

func byNkey(seed string) (nats.Option, error) {
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return nil, fmt.Errorf("read seed: %w", err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("read seed: %w", err)
	}
	return nats.Nkey(public, pair.Sign), nil
}

// register makes the instance known, and subscribes to its turns.
func (s *service) register() (err error) {
	s.micro, err = micro.AddService(s.conn, micro.Config{
		Name: ServiceName, Version: s.Version, Description: "agent " + s.Agent, QueueGroup: QueueGroup, Metadata: map[string]string{"agent": s.Agent},
	})
	if err != nil {
		return fmt.Errorf("register agent %s: %w", s.Agent, err)
	}
	err = s.micro.AddEndpoint("runs", micro.HandlerFunc(func(r micro.Request) { s.receive(r.Data(), r.Reply()) }), micro.WithEndpointSubject(RunsSubject(s.Agent)))
	if err == nil {
		_, err = s.conn.Subscribe(RunsSubject(s.Agent)+"."+s.at, func(m *nats.Msg) { s.receive(m.Data, m.Reply) })
	}
	if err == nil {
		_, err = s.conn.Subscribe(CancelSubject(s.Agent), func(m *nats.Msg) { s.cancelled(m.Data) })
	}
	if err == nil {
		err = s.conn.FlushTimeout(flushTime)
	}
	if err != nil {
		return fmt.Errorf("register agent %s: %w", s.Agent, err)
	}
	return nil
}

// receive takes a turn: for the run that waits for it, or as new work.
func (s *service) receive(text []byte, reply string) {
	in := incoming{send: func(f Frame) error { return s.publish(reply, f) }}
	if err := json.Unmarshal(text, &in.event); err != nil || in.event.Type != TypeTurn || reply == "" {
		s.OnError(fmt.Errorf("message on %s is not a turn: %w", RunsSubject(s.Agent), err))
		return
	}
	run, turn := in.event.Subject, in.event.ID
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.runs[run]
	switch {
	case t != nil && t.waits && t.ctx.Err() == nil && answered(in.event.Data.Messages):
		t.waits, t.turn = false, turn
		t.next <- in
		return
	case t != nil: // the gateway has given up on what the handler does, or never stored its call
		t.cancel()
	case len(s.runs) >= waitingMax:
		_ = in.send(Frame{Turn: turn, Type: FrameError, Message: "this instance has too many runs", Retry: true})
		return
	}
	ctx, cancel := until(s.ctx, in.event.Data.Deadline)
	t = &taken{ctx: ctx, turn: turn, next: make(chan incoming, 1), cancel: cancel}
	s.runs[run] = t
	s.work.Go(func() {
		defer cancel()
		defer s.forget(run, t)
		s.perform(ctx, in, t)
	})
}

// answered reports whether the last calls of a conversation have results.
func answered(messages []Message) bool {
	for _, m := range slices.Backward(messages) {
		if m.Role == RoleTool || m.Role == RoleAssistant {
			return m.Role == RoleTool
		}
	}
	return false
}

// until ends with a run: nobody waits for its handler then, even if the gateway can't say so.
func until(ctx context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	if deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline)
}

// perform works a run once there is a slot.
func (s *service) perform(ctx context.Context, in incoming, t *taken) {
	w := newWork(in, t.next, s.at)
	held := false // a slot
	w.park = func() {
		<-s.slots // a handler that waits for results leaves its slot to others
		held = false
		s.mu.Lock()
		t.waits = true
		s.mu.Unlock()
	}
	w.resume = func(ctx context.Context) error {
		select {
		case s.slots <- struct{}{}:
			held = true
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	alive := func() error { return s.beat(t, in) }
	for waiting := true; waiting; {
		select {
		case s.slots <- struct{}{}:
			waiting, held = false, true
		case <-time.After(aliveEvery):
			if alive() != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
	defer func() {
		if held {
			<-s.slots
		}
	}()
	if err := perform(ctx, w, alive, s.handle); err != nil && s.ctx.Err() == nil && ctx.Err() == nil {
		s.OnError(fmt.Errorf("answer of run %s: %w", in.event.Subject, err))
	}
}

// beat says that the newest turn of a run is worked.
func (s *service) beat(t *taken, in incoming) error {
	s.mu.Lock()
	turn := t.turn
	s.mu.Unlock()
	return in.send(Frame{Turn: turn, Type: FrameAlive})
}

func (s *service) forget(run string, t *taken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[run] == t {
		delete(s.runs, run)
	}
}

func (s *service) cancelled(text []byte) {
	var c Cancel
	if err := json.Unmarshal(text, &c); err != nil {
		s.OnError(fmt.Errorf("message on %s: %w", CancelSubject(s.Agent), err))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.runs[c.Run]; t != nil && t.turn == c.Turn {
		delete(s.runs, c.Run) // a turn that comes now is not for a handler that ends
		t.cancel()
	}
}

func (s *service) publish(subject string, f Frame) error {
	text, err := f.encode()
	if err != nil {
		return err
	}
	return s.conn.Publish(subject, text)
}
