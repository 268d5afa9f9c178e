package hook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/internal/alert"
	mapping "sluice/internal/hook"
	"sluice/policy/flow"
	engine "sluice/router/alert"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/router/trigger"
)

// Alerts takes reports about alerts in, see [engine.Alerts].
type Alerts interface {
	// ReportAll adds reports to a change. The error is [engine.ErrOff] if alerts are off.
	ReportAll(ctx context.Context, reports []alert.Incoming, change *ledger.Change) (engine.Reported, error)
}

const (
	keysMax   = 100 // keys of alerts that are listed for a request
	faultsMax = 5   // faults that are listed for a request
)

// report reports the alerts of a request, in the commit that ends its trigger. If alerts had to be left out, the request has
// failed, so that somebody is told and it can be replayed; the others are reported all the same.
func (h *Hooks) report(ctx context.Context, t *ledger.Trigger, said mapping.Alerts, label flow.Label) (trigger.Effect, error) {
	reports := make([]alert.Incoming, len(said.List))
	for i, a := range said.List {
		reports[i] = alert.Reported(a.Event, a.Source, label)
	}
	var change ledger.Change
	done, err := h.Alerts.ReportAll(ctx, reports, &change)
	var refused *request.Error
	switch {
	case errors.Is(err, engine.ErrOff), errors.As(err, &refused):
		return trigger.Effect{End: ledger.TriggerFailed, Why: err.Error(), Stored: h.counter(t.Subject, "unusable")}, nil
	case err != nil:
		return trigger.Effect{}, fmt.Errorf("report alerts: %w", err)
	}
	e := trigger.Effect{End: ledger.TriggerOK, Change: change}
	result := "alert"
	if faults := slices.Concat(said.Faults, done.Faults); len(faults) > 0 {
		e.End, e.Why, result = ledger.TriggerFailed, leftOut(faults), "unusable"
	}
	t.Fired, t.Alerts = h.Now(), done.Keys[:min(len(done.Keys), keysMax)]
	e.Stored = h.counter(t.Subject, result)
	return e, nil
}

// leftOut says which alerts were left out.
func leftOut(faults []error) string {
	var texts []string
	for _, fault := range faults[:min(len(faults), faultsMax)] {
		texts = append(texts, fault.Error())
	}
	if more := len(faults) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return "not all alerts were taken: " + strings.Join(texts, "; ")
}
