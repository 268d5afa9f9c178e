package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/problem"
	"sluice/internal/httpapi/wire"
	"sluice/router/approvals"
	"sluice/router/quota"
	"sluice/router/request"
	"sluice/sessions"
	"sluice/store/engine"
)

func TestErrorsBecomeResponses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
		text   string
		fault  bool
	}{
		"own":             {fmt.Errorf("read: %w", wire.Conflict("taken")), 409, "conflict", "taken", false},
		"bad request":     {&request.Error{Field: "to", Text: "is empty"}, 400, "invalid_request", "to: is empty", false},
		"too long":        {fmt.Errorf("%w: %w", request.ErrTooLong, &request.Error{Field: "message", Text: "is long"}), 413, "too_large", "message: is long", false},
		"pairing code":    {approvals.ErrPairingCode, 404, "not_found", approvals.ErrPairingCode.Text, false},
		"pairing locked":  {approvals.ErrPairingLocked, 429, "pairing_locked", approvals.ErrPairingLocked.Text, false},
		"no room":         {&quota.FullError{Text: "the disk is full"}, 507, "no_space", "the disk is full", false},
		"caller has gone": {fmt.Errorf("wait: %w", context.Canceled), 503, "stopping", wire.ErrStopping.Message, false},
		"access ended":    {fmt.Errorf("wait: %w", auth.ErrEnded), 401, "unauthorized", "the caller has signed out, or the token was revoked or replaced; accepted work continues", false},
		"stopping":        {request.ErrStopping, 503, "stopping", wire.ErrStopping.Message, false},
		"stopping store":  {errors.Join(&engine.Unavailable{Reason: "closed"}, context.Canceled), 503, "stopping", wire.ErrStopping.Message, false},
		"store":           {&engine.Unavailable{Reason: "the disk is full", Fix: "make room"}, 503, "unavailable", "the store is not available: the disk is full; make room", true},
		"not found":       {fmt.Errorf("read session: %w", sessions.ErrNotFound), 404, "not_found", wire.ErrNotFound.Message, false},
		"busy":            {request.ErrBusy, 409, "busy", "the session is working on another message; wait for it to finish, or cancel it", false},
		"queue full":      {request.ErrQueueFull, 429, "queue_full", "the session's queue is full; try again later", false},
		"conflict":        {sessions.ErrConflict, 409, "conflict", "another request changed it at the same time; read it again and retry", false},
		"fenced":          {sessions.ErrFenced, 409, "conflict", "another request changed it at the same time; read it again and retry", false},
		"anything else":   {errors.New("a secret path"), 500, "internal", wire.ErrInternal.Message, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, fault := problem.Of(c.err)
			require.Equal(t, wire.NewError(c.status, c.code, c.text), got)
			require.Equal(t, c.fault, fault)
		})
	}
}
