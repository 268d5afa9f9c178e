package adapters

import (
	"sync"
	"time"

	"sluice/sessions"
)

// Tracker keeps the state of a running account. It is safe for concurrent use.
type Tracker struct {
	now func() time.Time

	mu    sync.Mutex
	state State
}

// NewTracker creates the Tracker of an account that is stopped.
func NewTracker(channel, account string, now func() time.Time) *Tracker {
	return &Tracker{now: now, state: State{Channel: channel, Account: account, Status: Stopped, Since: now()}}
}

// State returns the state as it is now.
func (t *Tracker) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// Set sets the status, and why it is so.
func (t *Tracker) Set(status Status, detail string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state.Status != status {
		t.state.Since = t.now()
	}
	t.state.Status, t.state.Detail = status, detail
}

// Fail shows a failure, which is retried or needs a person.
func (t *Tracker) Fail(f *Failure) {
	status := Retrying
	if f.Kind == Auth {
		status = Failed
	}
	t.Set(status, f.Err.Error())
}

// Event notes that an event was accepted.
func (t *Tracker) Event() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.LastEvent = t.now()
}

// Heard notes a sign of life of the platform.
func (t *Tracker) Heard() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.LastHeard = t.now()
}

// Identify notes who the bot is.
func (t *Tracker) Identify(self sessions.Peer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Self = self
}
