// Package request has the errors of requests that the caller can correct.
package request

import "errors"

// Errors that callers branch on, besides the sentinels of package sessions.
var (
	// ErrBusy: the session has a run, and the request asked not to be queued.
	ErrBusy = errors.New("session is busy")
	// ErrStopping: the gateway accepts no new requests.
	ErrStopping = errors.New("gateway is stopping")
	// ErrQueueFull: the new message itself was refused because the session's queue is full.
	ErrQueueFull = errors.New("queue is full")
	// ErrTooLong: the message is longer than the gateway accepts.
	ErrTooLong = errors.New("message is too long")
)

// ErrReused: another request has used the key before, so its outcome is not the answer to this request.
var ErrReused = &Error{Text: "the key (Idempotency-Key, id or key) was used before, with another text or for another place: use a new key for this request"}

// Error is a problem with a request; its text may be shown to the caller.
type Error struct {
	Field string // the parameter, for example "channel"
	Text  string // what is wrong and what to do
}

// Error implements error.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Text
	}
	return e.Field + ": " + e.Text
}
