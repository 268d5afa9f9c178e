package alerts

import (
	"context"
	"errors"
	"time"

	"sluice/internal/alert"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	router "sluice/router/alert"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Alerts takes alerts in, shows them, and does what people decide, see [router.Alerts].
type Alerts interface {
	Plan() *alert.Plan
	Receive(ctx context.Context, reports []alert.Incoming) error
	Page(ctx context.Context, w router.Wanted) (found []router.Listed, after string, err error)
	Find(ctx context.Context, name string, most flow.Level) (alert.Alert, error)
	Show(ctx context.Context, key string, most flow.Level) (router.Listed, error)
	OpenGroups(ctx context.Context, q alert.GroupQuery) (page []router.GroupState, after string, err error)
	Obey(ctx context.Context, o router.Order) ([]alert.Alert, error)
	Ways(ctx context.Context, x alert.Alert, most flow.Level) ([]router.Way, router.Listed, error)
}

// Silences keeps silences, see [router.Alerts].
type Silences interface {
	Silences(ctx context.Context, after time.Time, most flow.Level) ([]alert.Silence, error)
	Silence(ctx context.Context, id string, most flow.Level) (alert.Silence, error)
	SetSilence(ctx context.Context, s alert.Silence, actor string) (string, error)
	ExpireSilence(ctx context.Context, id, actor string, most flow.Level) error
}

// Keeper is both.
type Keeper interface {
	Alerts
	Silences
}

// Deliveries reads what happened to messages.
type Deliveries interface {
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
}

// API serves alerts and silences.
type API struct {
	Visible    *view.Visibility
	Alerts     Keeper
	Deliveries Deliveries
	Now        func() time.Time
}

// off is the answer while the configuration says nothing about alerts.
func off(err error) error {
	if errors.Is(err, router.ErrOff) {
		return wire.Conflict(router.ErrOff.Error())
	}
	return err
}

// find is an alert that the caller may know of.
func (a *API) find(ctx context.Context, name string) (alert.Alert, error) {
	return Find(ctx, a.Visible, a.Alerts, name)
}

// Finder finds an alert by its key or short name, see [router.Alerts].
type Finder interface {
	Find(ctx context.Context, name string, most flow.Level) (alert.Alert, error)
}

// Find returns an alert that the caller may know of. An alert above the caller's level is only noted in the audit trail.
func Find(ctx context.Context, visible *view.Visibility, from Finder, name string) (alert.Alert, error) {
	x, err := from.Find(ctx, name, auth.CallerOf(ctx).Level)
	if errors.Is(err, sessions.ErrNotFound) {
		x, err = from.Find(ctx, name, flow.Restricted)
	}
	return x, visible.Check(ctx, err, denials.Object{Kind: "alert", ID: alert.Ref(x.Key), Label: x.Label})
}

// seen reports whether the caller may know of the channel of a target.
func (a *API) seen(ctx context.Context, target string) bool {
	return TargetSeen(ctx, a.Visible, a.Alerts.Plan(), target)
}

// TargetSeen reports whether the caller may know of the channel of a target. While the configuration says nothing about alerts,
// only who sees everything may.
func TargetSeen(ctx context.Context, visible *view.Visibility, plan *alert.Plan, target string) bool {
	if plan == nil {
		return auth.CallerOf(ctx).SeesAll()
	}
	to, ok := plan.Targets[target]
	return !ok || to.Channel == "" || visible.ChannelSeen(ctx, to.Channel, to.Account)
}
