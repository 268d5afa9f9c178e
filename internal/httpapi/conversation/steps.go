package conversation

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/router/steps"
	"sluice/sessions"
)

// Steps gives the steps of exchanges as they are published on the bus.
type Steps interface {
	// TailSteps gives the messages from now on. The channel closes if the reader is too slow.
	TailSteps(ctx context.Context) (<-chan []byte, error)
}

// StepAPI serves the steps of exchanges.
type StepAPI struct {
	Visible *view.Visibility
	Steps   Steps
	Ending  context.Context // ends the streams when the server stops
	Log     *slog.Logger
}

// Tail shows the steps that the caller may know of, until the caller goes.
func (a *StepAPI) Tail(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := endless(r.Context(), a.Ending)
	defer cancel()
	messages, err := a.Steps.TailSteps(ctx)
	if err != nil {
		a.Log.Warn("cannot follow the steps of exchanges", "err", err)
		return wire.Unavailable("the steps are not available at the moment; try again")
	}
	out, err := wire.NewStream(w)
	if err != nil {
		return nil // the caller has gone
	}
	pump(ctx, messages, func(text []byte) error { return a.show(ctx, out, text) }, out.Beat)
	return nil
}

// show passes a step on if the caller may know of it: of its text, and of the sessions on both sides.
func (a *StepAPI) show(ctx context.Context, out *wire.Stream, text []byte) error {
	var m steps.Message
	if err := json.Unmarshal(text, &m); err != nil || m.Data.Run == "" {
		a.Log.Debug("message on the bus is not a step", "err", err)
		return nil
	}
	if !auth.CallerOf(ctx).Sees(m.Data.Label) {
		return nil
	}
	sides := []sessions.ID{m.Data.To.Session}
	if from := m.Data.From.Session; from != "" {
		sides = append(sides, from)
	}
	seen, err := a.Visible.SessionsSeen(ctx, sides)
	if err != nil || len(seen) < len(sides) {
		return err
	}
	return out.Event(m.ID, m.Type, m)
}

// DescribeTail describes the operation in the OpenAPI document.
func DescribeTail(r huma.API) huma.Operation {
	o := wire.Op(http.MethodGet, "/v1/bus/steps", "tail-steps", "Follow the steps of exchanges between agents, live, as they are on the bus")
	o.Responses = wire.Responses(http.StatusServiceUnavailable, map[string]*huma.MediaType{"text/event-stream": {Schema: wire.Schema[steps.Message](r)}})
	return o
}
