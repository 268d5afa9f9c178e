package slack

import (
	"sync"
	"time"

	"sluice/adapters"
	"sluice/sessions"
)

// state is the state of the account. It is safe for concurrent use.
type state struct {
	now func() time.Time

	mu sync.Mutex
	s  adapters.State
}

func newState(cfg Config) *state {
	return &state{
		now: cfg.Now,
		s:   adapters.State{Channel: channelName, Account: cfg.Account, Status: adapters.Stopped, Since: cfg.Now()},
	}
}

func (s *state) read() adapters.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.s
}

func (s *state) set(status adapters.Status, detail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.s.Status != status {
		s.s.Since = s.now()
	}
	s.s.Status, s.s.Detail = status, detail
}

// fail shows a failure, which is retried or needs a person.
func (s *state) fail(f *adapters.Failure) {
	status := adapters.Retrying
	if f.Kind == adapters.Auth {
		status = adapters.Failed
	}
	s.set(status, f.Err.Error())
}

// event notes that an event was accepted.
func (s *state) event() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.LastEvent = s.now()
}

// heard notes a sign of life of Slack: a frame, a ping, a request, or a response about the bot's identity.
func (s *state) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.LastHeard = s.now()
}

func (s *state) identify(self sessions.Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.Self = self
}
