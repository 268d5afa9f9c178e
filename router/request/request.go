// Package request has the errors of requests that the caller can correct.
package request

import (
	"errors"
	"fmt"
)

// Errors that callers branch on, besides the sentinels of package sessions.
var (
	// ErrBusy: the session has a run, and the request asked not to be queued.
	ErrBusy = errors.New("session is busy")
	// ErrStopping: the gateway accepts no new requests.
	ErrStopping = errors.New("gateway is stopping")
	// ErrQueueFull: the new message itself was refused because the session's queue is full.
	ErrQueueFull = errors.New("queue is full")
	// ErrTooLong: the message is longer than the gateway accepts, see [TooLong].
	ErrTooLong = errors.New("message is too long")
)

// TooLong is the error about a text that is longer than the gateway accepts.
func TooLong(field string, length, limit int) error {
	return fmt.Errorf("%w: %w", ErrTooLong, &Error{Field: field, Text: fmt.Sprintf("is %d bytes long, the maximum is %d; split it, or send it as a file", length, limit)})
}

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
