package hook

import (
	"context"
	"errors"
	"fmt"
	"time"

	mapping "sluice/internal/hook"
	"sluice/router/ledger"
	"sluice/router/trigger"
	"sluice/sessions"
)

var _ trigger.Source = (*Hooks)(nil)

// Rendering is what a hook makes of a request.
type Rendering struct {
	Passes  bool
	Why     string // it does not pass
	Session sessions.Key
	Prompt  string
	Alerts  mapping.Alerts // in place of session and prompt
}

// Render applies a hook's filter and templates to a request that was received at a time, without effects.
func (h *Hook) Render(ctx context.Context, r mapping.Request, received time.Time) (Rendering, error) {
	var out Rendering
	vars, err := mapping.Read(h.Name, r)
	if err != nil {
		return out, err
	}
	if out.Passes, out.Why, err = h.Passes(ctx, vars); err != nil {
		return out, err
	}
	if h.Reports() {
		if out.Passes {
			out.Alerts, err = h.Alerts(vars, r, received)
		}
		return out, err
	}
	if out.Session, err = h.Session(vars); err != nil {
		return out, err
	}
	out.Prompt, err = h.Prompt(vars)
	return out, err
}

// Fire implements [trigger.Source].
func (h *Hooks) Fire(ctx context.Context, t *ledger.Trigger) (trigger.Effect, error) {
	hook, ok := h.Find(t.Subject)
	if !ok {
		return trigger.Effect{End: ledger.TriggerWithdrawn, Why: "the hook was removed from the configuration"}, nil
	}
	r, err := h.Store.HookRequest(ctx, t.Key)
	if errors.Is(err, sessions.ErrNotFound) {
		return trigger.Effect{End: ledger.TriggerWithdrawn, Why: "the request is no longer stored"}, nil
	}
	if err != nil {
		return trigger.Effect{}, fmt.Errorf("read request to hook: %w", err)
	}
	out, fault := hook.Render(ctx, contentOf(r), r.Received)
	unusable := "" // why the request can't be used
	if fault != nil {
		unusable = fault.Error()
	}
	switch {
	case ctx.Err() != nil:
		return trigger.Effect{}, context.Cause(ctx)
	case unusable != "":
		return trigger.Effect{End: ledger.TriggerFailed, Why: unusable, Stored: h.counter(t.Subject, "unusable")}, nil
	case !out.Passes:
		return trigger.Effect{End: ledger.TriggerFiltered, Why: out.Why, Stored: h.counter(t.Subject, "filtered")}, nil
	case hook.Reports():
		return h.report(ctx, t, out.Alerts, r.Label.Join(hook.Label()))
	}
	return trigger.Effect{
		Run: &trigger.Run{
			Session: out.Session, Agent: hook.Agent, Text: out.Prompt, Label: r.Label.Join(hook.Label()), Clearance: hook.Level, Timeout: hook.Timeout,
		},
		Deliver: hook.Deliver, Stored: h.counter(t.Subject, "run"),
	}, nil
}

func (h *Hooks) counter(name, result string) func() {
	return func() { h.Count(name, result) }
}
