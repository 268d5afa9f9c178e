package discord

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"sluice/adapters"
	"sluice/internal/pause"
)

// shard keeps one connection of the account open, and replaces it when it breaks.
type shard struct {
	cfg      Config
	state    *state
	metrics  *metrics
	api      *api
	bot      *identity
	lookup   *lookup
	messages *messages
	posted   *posted
	acks     *acks
	gate     *gate
	lanes    *lanes
	inbox    *inbox
	fetches  chan struct{} // capacity: how many channels catch up at a time

	id, of int
	name   string // name of its position among the cursors
	ready  bool   // the current connection has a session; only for the reader

	at    atomic.Pointer[position]
	moved chan struct{} // capacity 1: the position has changed

	saving sync.Mutex
	saved  string // the position as it is stored
}

// restore continues at the stored position, if any.
func (s *shard) restore(stored map[string]string) {
	s.moved = make(chan struct{}, 1)
	s.saved = stored[s.name]
	s.at.Store(parsePosition(s.saved, s.moved))
}

func sessionName(shard, of int) string {
	return sessionPrefix + strconv.Itoa(shard) + "/" + strconv.Itoa(of)
}

func (s *shard) position() *position { return s.at.Load() }

// seq returns the last received sequence of the current session.
func (s *shard) seq() int64 { return s.position().seq() }

func (s *shard) dropSession() { s.at.Store(newPosition("", "", 0, s.moved)) }

// run keeps the shard connected until ctx ends (nil) or a person must change something.
func (s *shard) run(ctx context.Context) error {
	pauses := s.cfg.retryPolicy().Pauses()
	for tries := 0; ; tries++ {
		began := time.Now()
		err := s.connect(ctx, tries)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of ctx is the cause of whatever failed
		}
		if f := s.fatal(err); f != nil {
			return f
		}
		if s.ready && time.Since(began) > s.cfg.pace.longest {
			tries = 0 // connections that end early again and again must not use up the day's identifies
			pauses.Reset()
		}
		s.forget(err)
		s.api.client.closeIdle() // they may be broken as well
		wait := pauses.NextBackOff()
		if errors.Is(err, errInvalid) {
			wait = s.cfg.pace.invalid + time.Duration(rand.Int64N(int64(4*s.cfg.pace.invalid)))
		}
		s.state.shard(s.id, adapters.Retrying, err.Error())
		s.cfg.Log.Warn("discord gateway connection ended, connecting again", "shard", s.id, "wait", wait, "resume", s.position().session != "", "error", err)
		if !pause.Whole(ctx, wait) {
			return nil
		}
	}
}

// maxOwnAddress is how often the session's address for resuming is tried before the usual one.
const maxOwnAddress = 3

// connect runs one connection until it ends, and returns why.
func (s *shard) connect(ctx context.Context, tries int) error {
	s.ready = false
	leave := func(bool) {}
	address := s.gate.url()
	at := s.position()
	if at.session == "" {
		var err error
		if leave, err = s.gate.enter(ctx, s.id); err != nil {
			return err
		}
	} else if tries < maxOwnAddress && s.trusted(at.url) {
		address = at.url
	}
	identified := false
	defer func() { leave(identified) }()
	c, err := s.dial(ctx, address)
	if err != nil {
		return err
	}
	if at.session != "" {
		err = c.write(opResume, s.resume(at))
	} else {
		err = c.write(opIdentify, s.identify())
		identified = err == nil
	}
	leave(identified)
	leave = func(bool) {}
	if err != nil {
		c.close(closeResumable)
		return fmt.Errorf("identify to the gateway: %w", err)
	}
	return s.live(ctx, c)
}

// live reads a connection until it ends. The heartbeat's goroutine closes it when it is dead, when the reader has ended, or
// when ctx ends.
func (s *shard) live(ctx context.Context, c *connection) error {
	here, cancel := context.WithCancelCause(ctx)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if err := c.sendHeartbeats(here, s.seq); err != nil {
			cancel(err)
		}
		c.close(s.goodbye(ctx.Err() != nil))
	}()
	err := s.read(ctx, c)
	if cause := context.Cause(here); cause != nil {
		err = cause // the reason why it was closed
	}
	cancel(err)
	<-closed
	return err
}

// goodbye returns the close code. It keeps a session that this or the next process can resume.
func (s *shard) goodbye(stopping bool) int {
	if stopping && s.cfg.Cursors == nil {
		return websocket.CloseNormalClosure
	}
	return closeResumable
}

func (s *shard) read(ctx context.Context, c *connection) error {
	for {
		within := s.cfg.pace.handshake
		if s.ready {
			within = 0
		}
		f, err := c.read(within)
		if err != nil {
			return fmt.Errorf("read from the gateway: %w", err)
		}
		s.state.Heard()
		switch f.Op {
		case opDispatch:
			err = s.dispatch(ctx, c, f)
		case opHeartbeat:
			err = c.heartbeat(s.seq())
		case opHeartbeatAck:
			c.acked.Store(true)
		case opReconnect:
			err = errReconnect
		case opInvalid:
			if string(f.Data) != "true" {
				s.dropSession()
			}
			err = errInvalid
		default:
			s.messages.malformed(f.Data, fmt.Errorf("gateway operation %d", f.Op))
		}
		if err != nil {
			return err
		}
	}
}

// trusted reports whether the token may be sent to an address for resuming. The address comes from storage, where others may
// write as well.
func (s *shard) trusted(address string) bool {
	if !isURL(address, "wss", "ws") {
		return false
	}
	u, err := url.Parse(address)
	usual, err2 := url.Parse(s.gate.url())
	if err != nil || err2 != nil || u.User != nil {
		return false
	}
	return u.Host == usual.Host && u.Scheme == usual.Scheme || u.Scheme == "wss" && strings.HasSuffix(u.Host, ".discord.gg")
}

// forget drops the session if it can't be resumed after the end of its connection.
func (s *shard) forget(err error) {
	closed, ok := errors.AsType[*websocket.CloseError](err)
	if !ok {
		return
	}
	switch closed.Code {
	case websocket.CloseNormalClosure, websocket.CloseGoingAway, 4003, 4007, 4009: // not authenticated, wrong sequence, timed out
		s.dropSession()
	}
}

// fatalCloses are the close codes that need a person.
var fatalCloses = map[int]string{
	4004: "the bot token is not valid (reset or mistyped): copy the current one from the developer portal (Bot → Reset Token) into the configuration",
	4010: "Discord rejects the shard's number: set shards to 0 in the configuration to use the number that Discord recommends",
	4011: "the bot is in too many servers for this number of connections: set shards to 0 in the configuration to use the number that Discord recommends",
	4012: "Discord no longer supports this version of its gateway: update the program, and check gatewayURL in the configuration",
	4013: "Discord does not know the requested events: update the program",
	4014: noContent,
}

// fatal returns the failure that ends Run, or nil.
func (s *shard) fatal(err error) *adapters.Failure {
	if f, ok := errors.AsType[*adapters.Failure](err); ok && f.Kind == adapters.Auth {
		return f
	}
	closed, ok := errors.AsType[*websocket.CloseError](err)
	if !ok || fatalCloses[closed.Code] == "" {
		return nil
	}
	return &adapters.Failure{
		Kind: adapters.Auth, Certain: true,
		Err: fmt.Errorf("%s (gateway closed with %d)", fatalCloses[closed.Code], closed.Code),
	}
}
