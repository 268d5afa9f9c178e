package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/problem"
	"sluice/internal/httpapi/wire"
)

// problems answers with errors, and logs the cause of those that are the gateway's fault.
type problems struct{ log *slog.Logger }

func (p problems) of(err error) *wire.Error {
	told, fault := problem.Of(err)
	if fault {
		p.log.Error("request failed", "err", err)
	}
	return told
}

func (p problems) write(w http.ResponseWriter, err error) { wire.WriteError(w, p.of(err)) }

// reasonOf is the error of a request. If the request was cancelled, it includes the cause.
func reasonOf(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), auth.ErrEnded) {
		return auth.ErrEnded
	}
	return err
}

// plain is a handler whose errors are written as responses.
func (p problems) plain(handle wire.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if err := handle(w, req); err != nil {
			p.write(w, reasonOf(req.Context(), err))
		}
	}
}
