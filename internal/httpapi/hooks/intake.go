package hooks

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/wire"
	"sluice/router/hook"
	"sluice/router/request"
)

const (
	// Prefix is where hooks are.
	Prefix = "/hooks/"
	// BodyMax bounds the body of a request to a hook, in bytes.
	BodyMax = 1 << 20
)

// Hooks takes requests in.
type Hooks interface {
	Receive(ctx context.Context, in hook.Arrival) (hook.Accepted, error)
	Count(name, result string)
}

// Intake serves POST /hooks/{name}. It is made by NewIntake.
type Intake struct {
	hooks    Hooks
	denials  *denials.Trail
	failures *wire.Failures
	bodies   *wire.Unknown
}

// NewIntake makes an Intake.
func NewIntake(h Hooks, trail *denials.Trail, bodies *wire.Unknown, now func() time.Time) *Intake {
	return &Intake{hooks: h, denials: trail, failures: wire.NewFailures(now), bodies: bodies}
}

type accepted struct {
	ID string `json:"id"`
}

// Receive answers a request to a hook.
func (a *Intake) Receive(w http.ResponseWriter, r *http.Request) error {
	name, from := r.PathValue("name"), wire.Address(r)
	got, result, err := a.receive(w, r, name, from)
	a.hooks.Count(name, result)
	if err != nil {
		return err
	}
	status := http.StatusAccepted
	if got.Repeated {
		status = http.StatusOK
	}
	wire.WriteJSON(w, status, accepted{got.ID})
	return nil
}

func (a *Intake) receive(w http.ResponseWriter, r *http.Request, name, from string) (hook.Accepted, string, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return hook.Accepted{}, "malformed", wire.NewError(http.StatusUnsupportedMediaType, "unsupported_encoding", "the body is compressed: send it without Content-Encoding")
	}
	body, done, err := a.bodies.Read(w, r, BodyMax)
	defer done()
	if err != nil {
		result := "malformed"
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Status == http.StatusServiceUnavailable {
			result = "busy"
		}
		return hook.Accepted{}, result, err
	}
	got, err := a.hooks.Receive(r.Context(), hook.Arrival{Hook: name, Headers: r.Header, Query: r.URL.Query(), Body: body})
	refused, ok := errors.AsType[*hook.Refusal](err)
	switch {
	case ok:
		result, told := a.refuse(w, r, refused, from)
		return got, result, told
	case errors.Is(err, request.ErrStopping):
		return got, "busy", err
	case err != nil:
		return got, "failed", err
	case got.Repeated:
		return got, "repeated", nil
	}
	return got, "accepted", nil
}

// refuse is the answer to a request that is refused.
func (a *Intake) refuse(w http.ResponseWriter, r *http.Request, e *hook.Refusal, from string) (string, error) {
	switch e.Reason {
	case hook.Unknown: // who guesses names is limited like who guesses signatures
		if err := a.limit(w, from); err != nil {
			return "limited", err
		}
		return "unknown", wire.NewError(http.StatusNotFound, "not_found", e.Text)
	case hook.BadType:
		return "malformed", wire.NewError(http.StatusUnsupportedMediaType, "unsupported_media_type", e.Text)
	case hook.Conflict:
		return "conflict", wire.Conflict(e.Text)
	case hook.Unsigned:
		if err := a.limit(w, from); err != nil {
			return "limited", err
		}
		a.denials.Unsigned(r)
		return "unsigned", wire.NewError(http.StatusUnauthorized, "unauthorized", e.Text)
	}
	return "malformed", wire.BadRequest(e.Text)
}

// limit counts a request that is refused, and returns an error if its address has sent too many.
func (a *Intake) limit(w http.ResponseWriter, from string) error {
	wait := a.failures.Add(from)
	if wait == 0 {
		return nil
	}
	w.Header().Set("Retry-After", wire.Seconds(wait))
	return wire.NewError(http.StatusTooManyRequests, "too_many_failures", "too many requests from this address were for unknown hooks, or not signed as their hooks expect; try again later")
}
