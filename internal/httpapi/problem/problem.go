// Package problem says what a caller of the HTTP API is told about an error.
package problem

import (
	"context"
	"errors"
	"net/http"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/wire"
	"sluice/router/approvals"
	"sluice/router/decider"
	"sluice/router/limits"
	"sluice/router/quota"
	"sluice/router/request"
	"sluice/sessions"
	"sluice/store/engine"
)

// Of turns a handler's error into the error for the caller. If fault is true, the cause must be logged: the
// caller learns only that something failed.
func Of(err error) (told *wire.Error, fault bool) {
	if known, ok := errors.AsType[*wire.Error](err); ok {
		return known, false
	}
	switch {
	case errors.Is(err, approvals.ErrPairingLocked):
		return wire.NewError(http.StatusTooManyRequests, "pairing_locked", approvals.ErrPairingLocked.Text), false
	case errors.Is(err, approvals.ErrPairingCode):
		return wire.NewError(http.StatusNotFound, wire.ErrNotFound.Code, approvals.ErrPairingCode.Text), false
	case errors.Is(err, request.ErrReused):
		return wire.NewError(http.StatusConflict, "key_reused", request.ErrReused.Text), false
	}
	if bad, ok := errors.AsType[*request.Error](err); ok {
		if errors.Is(err, request.ErrTooLong) {
			return wire.TooLarge(bad.Error()), false
		}
		return wire.BadRequest(bad.Error()), false
	}
	if full, ok := errors.AsType[*quota.FullError](err); ok {
		return wire.NoSpace(full.Text), false
	}
	if reached, ok := errors.AsType[*limits.Reached](err); ok {
		told := wire.NewError(http.StatusTooManyRequests, "limit_reached", reached.Error())
		told.Retry = reached.Wait
		return told, false
	}
	if left, ok := errors.AsType[*decider.NotApproverError](err); ok {
		return wire.Forbidden(left.Error()), false
	}
	if errors.Is(err, auth.ErrEnded) {
		return wire.NewError(http.StatusUnauthorized, "unauthorized", auth.ErrEnded.Error()+"; accepted work continues"), false
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, request.ErrStopping) { // if the client has disconnected, nobody reads the answer
		return wire.ErrStopping, false
	}
	if down, ok := errors.AsType[*engine.Unavailable](err); ok {
		text := "the store is not available: " + down.Reason
		if down.Fix != "" {
			text += "; " + down.Fix
		}
		return wire.Unavailable(text), true
	}
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return wire.ErrNotFound, false
	case errors.Is(err, request.ErrBusy):
		return wire.NewError(http.StatusConflict, "busy", "the session is working on another message; wait for it to finish, or cancel it"), false
	case errors.Is(err, request.ErrQueueFull):
		return wire.NewError(http.StatusTooManyRequests, "queue_full", "the session's queue is full; try again later"), false
	case errors.Is(err, sessions.ErrConflict), errors.Is(err, sessions.ErrFenced):
		return wire.Conflict("another request changed it at the same time; read it again and retry"), false
	}
	return wire.ErrInternal, true
}
