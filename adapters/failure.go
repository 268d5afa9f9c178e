package adapters

import (
	"errors"
	"fmt"
	"time"

	"sluice/sessions"
)

// Kind says what a failed platform call means for the next attempt.
type Kind string

// The kinds of failure.
const (
	Transient   Kind = "transient"    // retry with backoff
	RateLimited Kind = "rate_limited" // retry after RetryAfter
	Permanent   Kind = "permanent"    // do not retry: chat gone, bot blocked, text refused
	Auth        Kind = "auth"         // do not retry before the configuration changes: token revoked
	TooLarge    Kind = "too_large"    // do not retry in this form
	Unsupported Kind = "unsupported"  // the platform can't do this
)

// Failure is why a platform call did not succeed.
type Failure struct {
	Kind       Kind
	RetryAfter time.Duration // RateLimited: how long the platform asked to wait
	// Certain is false if the platform may have executed the call: the request was sent and its response lost.
	Certain bool
	// Moved is set if the conversation has a new id: the call must be repeated there.
	Moved *Migration
	Err   error
}

// Final reports whether the same call fails every time, also later.
func (f *Failure) Final() bool {
	return f.Kind == Permanent || f.Kind == TooLarge || f.Kind == Unsupported
}

// Error implements error.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %v", f.Kind, f.Err) }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// AsFailure finds the Failure in err. Any other error counts as transient and uncertain, because nothing is known
// about it.
func AsFailure(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	return &Failure{Kind: Transient, Err: err}
}

// State is the state of a running account, for status, doctor and metrics.
type State struct {
	Channel   string        `json:"channel"`
	Account   string        `json:"account"`
	Status    Status        `json:"status"`
	Detail    string        `json:"detail,omitempty"`    // why, and what to do
	Elsewhere string        `json:"elsewhere,omitempty"` // of an account in standby: what is wrong on the replica that serves it
	Self      sessions.Peer `json:"self"`
	Since     time.Time     `json:"since,omitzero"`
	DeafSince time.Time     `json:"deafSince,omitzero"` // since when no messages arrive, over all retries; zero: they do
	LastEvent time.Time     `json:"lastEvent,omitzero"` // when the last event was accepted; zero before the first one
	LastHeard time.Time     `json:"lastHeard,omitzero"` // the platform's last sign of life: an answer to a poll, a ping, an event; zero if the adapter can't tell
	Pending   int           `json:"pending,omitempty"`  // events that were waiting at the platform at the last query
	Restarts  int           `json:"restarts"`
}

// Hears reports whether messages arrive, on this replica or another one.
func (s *State) Hears() bool { return s.Status.Hears() && s.Elsewhere == "" }

// Status is how an account is doing.
type Status string

// Hears reports whether messages arrive; on another replica if it is standby.
func (s Status) Hears() bool { return s == Connected || s == Standby }

// The account statuses. Standby: another replica holds the lease.
const (
	Connecting Status = "connecting"
	Connected  Status = "connected"
	Standby    Status = "standby"
	// Deaf means connected, but events do not arrive or are not accepted.
	Deaf     Status = "deaf"
	Retrying Status = "retrying"
	Failed   Status = "failed" // needs a person: token revoked, second poller
	Stopped  Status = "stopped"
)
