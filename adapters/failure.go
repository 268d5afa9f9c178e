package adapters

import (
	"errors"
	"fmt"
	"time"

	"sluice/sessions"
)

// Kind says what a failed platform call means for the next try.
type Kind string

// The kinds of failure.
const (
	Transient   Kind = "transient"    // try again with backoff
	RateLimited Kind = "rate_limited" // try again after RetryAfter
	Permanent   Kind = "permanent"    // never: chat gone, bot blocked, text refused
	Auth        Kind = "auth"         // never before the configuration changes: token revoked
	TooLarge    Kind = "too_large"    // never in this form
	Unsupported Kind = "unsupported"  // the platform can't do this
)

// Failure is why a platform call did not succeed.
type Failure struct {
	Kind       Kind
	RetryAfter time.Duration // RateLimited: how long the platform asked to wait
	// Certain is false when the platform may have done what was asked: the
	// request was written and its response lost.
	Certain bool
	// Wide: the limit holds for the whole account, not only for this conversation.
	Wide bool
	// Moved is set when the conversation now has another id: the call must be repeated there.
	Moved *Migration
	Err   error
}

// Error implements error.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %v", f.Kind, f.Err) }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// AsFailure finds the Failure in err. Any other error counts as an uncertain
// transient one, because nothing is known of it.
func AsFailure(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	return &Failure{Kind: Transient, Err: err}
}

// State is what is known of a running account, for status, doctor and metrics.
type State struct {
	Channel   string        `json:"channel"`
	Account   string        `json:"account"`
	Status    Status        `json:"status"`
	Detail    string        `json:"detail,omitempty"` // why, and what to do
	Self      sessions.Peer `json:"self"`
	Since     time.Time     `json:"since,omitzero"`
	LastEvent time.Time     `json:"lastEvent,omitzero"` // when the last event was taken; zero if none came yet
	LastHeard time.Time     `json:"lastHeard,omitzero"` // the platform's last sign of life: an answer to a poll, a ping, an event; zero where the adapter can't tell
	Pending   int           `json:"pending,omitempty"`  // events that waited on the platform when it was last asked
	Restarts  int           `json:"restarts"`
}

// Status is how an account is doing.
type Status string

// The account statuses. Standby: another replica holds the lease.
const (
	Connecting Status = "connecting"
	Connected  Status = "connected"
	Standby    Status = "standby"
	// Deaf: connected, but events do not come in, or are not taken.
	Deaf     Status = "deaf"
	Retrying Status = "retrying"
	Failed   Status = "failed" // needs a person: token revoked, second poller
	Stopped  Status = "stopped"
)
