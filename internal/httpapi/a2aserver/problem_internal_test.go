package a2aserver

import (
	"errors"
	"net/http"
	"testing"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi/wire"
)

// A client that may succeed later gets a server error, not an error about its request.
func TestProblemsOfTheProtocol(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{
		http.StatusBadRequest:            a2a.ErrInvalidRequest,
		http.StatusRequestEntityTooLarge: a2a.ErrInvalidRequest,
		http.StatusNotFound:              a2a.ErrTaskNotFound,
		http.StatusConflict:              a2a.ErrServerError,
		http.StatusTooManyRequests:       a2a.ErrServerError,
		http.StatusServiceUnavailable:    a2a.ErrServerError,
	} {
		h := &handler{api: &API{Problem: func(error) *wire.Error { return wire.NewError(status, "code", "why") }}}
		require.ErrorIs(t, h.problem(errors.New("refused")), want, status)
	}
}
