// Package request says what is wrong with what a caller asked of the gateway.
package request

import "errors"

// Errors that callers branch on, besides the sentinels of package sessions.
var (
	// ErrBusy: the session has a run and the request asked not to queue behind it.
	ErrBusy = errors.New("session is busy")
	// ErrStopping: the gateway takes nothing in any more.
	ErrStopping = errors.New("gateway is stopping")
	// ErrQueueFull: the new message itself was refused because the session's queue is full.
	ErrQueueFull = errors.New("queue is full")
)

// Error is a problem with what a caller asked for; its text may be shown to the caller.
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
