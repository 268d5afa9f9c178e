package telegram

import (
	"sync"
	"time"

	"sluice/adapters"
)

// state is the state of the account. It is safe for concurrent use.
type state struct {
	*adapters.Tracker

	now  func() time.Time
	deaf time.Duration // a poller without any answer for this long counts as deaf

	mu        sync.Mutex
	lastHeard time.Time // time of the poller's last answer; zero while no answer is expected
}

func newState(cfg Config) *state {
	return &state{
		Tracker: adapters.NewTracker(channelName, cfg.Account, cfg.Now), now: cfg.Now, deaf: cfg.PollTimeout + 2*cfg.PollSlack,
	}
}

// State is the state as it is now: an account whose poller gets no answers is deaf.
func (s *state) State() adapters.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.Tracker.State()
	if silent := s.now().Sub(s.lastHeard); out.Status == adapters.Connected && !s.lastHeard.IsZero() && silent > s.deaf {
		out.Status = adapters.Deaf
		out.Detail = "connected, but no response from Telegram for " + silent.Round(time.Second).String()
	}
	return out
}

// Set sets the status, and why it is so.
func (s *state) Set(status adapters.Status, detail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Tracker.Set(status, detail)
	if status != adapters.Connected {
		s.lastHeard = time.Time{}
	}
}

// Fail shows a failure, which is retried or needs a person, as a second poller does.
func (s *state) Fail(f *adapters.Failure) {
	status := adapters.Retrying
	if f.Kind == adapters.Auth || f.RetryAfter == conflictPause {
		status = adapters.Failed
	}
	s.Set(status, f.Err.Error())
}

// answered notes an answer to the poller, with or without events.
func (s *state) answered(events int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Tracker.Set(adapters.Connected, "")
	s.lastHeard = s.now()
	s.Heard()
	if events > 0 {
		s.Event()
	}
}

// called notes an event from the webhook. It may come before the answer to setWebhook.
func (s *state) called() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Tracker.State().Status == adapters.Connecting {
		s.Tracker.Set(adapters.Connected, "")
	}
	s.Heard()
	s.Event()
}
