package telegram

import (
	"sync"
	"time"

	"sluice/adapters"
	"sluice/sessions"
)

// state is the state of the account. It is safe for concurrent use.
type state struct {
	now  func() time.Time
	deaf time.Duration // a poller without any answer for this long counts as deaf

	mu        sync.Mutex
	s         adapters.State
	lastHeard time.Time // time of the poller's last answer; zero while no answer is expected
}

func newState(cfg Config) *state {
	return &state{
		now: cfg.Now, deaf: cfg.PollTimeout + 2*cfg.PollSlack,
		s: adapters.State{Channel: channelName, Account: cfg.Account, Status: adapters.Stopped, Since: cfg.Now()},
	}
}

func (s *state) read() adapters.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.s
	if silent := s.now().Sub(s.lastHeard); out.Status == adapters.Connected && !s.lastHeard.IsZero() && silent > s.deaf {
		out.Status = adapters.Deaf
		out.Detail = "connected, but no response from Telegram for " + silent.Round(time.Second).String()
	}
	return out
}

func (s *state) set(status adapters.Status, detail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(status, detail)
}

func (s *state) setLocked(status adapters.Status, detail string) {
	if s.s.Status != status {
		s.s.Since = s.now()
	}
	s.s.Status, s.s.Detail = status, detail
	if status != adapters.Connected {
		s.lastHeard = time.Time{}
	}
}

// fail shows a failure that needs a person, or one that is retried.
func (s *state) fail(f *adapters.Failure) {
	status := adapters.Retrying
	if f.Kind == adapters.Auth || f.RetryAfter == conflictPause {
		status = adapters.Failed
	}
	s.set(status, f.Err.Error())
}

// heard records an answer to the poller, received events, or both.
func (s *state) heard(events int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(adapters.Connected, "")
	s.lastHeard = s.now()
	s.s.LastHeard = s.lastHeard
	if events > 0 {
		s.s.LastEvent = s.lastHeard
	}
}

// event records an event from the webhook. It may come before the answer to setWebhook.
func (s *state) event() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.s.Status == adapters.Connecting {
		s.setLocked(adapters.Connected, "")
	}
	s.s.LastEvent = s.now()
	s.s.LastHeard = s.s.LastEvent
}

func (s *state) identify(self sessions.Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.Self = self
}
