package manage

import (
	"context"
	"fmt"
	"time"

	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

// DeliveryStore reads deliveries.
type DeliveryStore interface {
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
}

// Deliveries retries and discards deliveries, for operators and programs. All fields are required. It is safe for
// concurrent use.
type Deliveries struct {
	Store    DeliveryStore
	Settings func() *place.Settings
	Lanes    Lanes
	// ApprovalOf reads the approval of a held delivery.
	ApprovalOf func(ctx context.Context, d ledger.Delivery) (ledger.Approval, error)
	Now        func() time.Time
}

// RetryDelivery sends a delivery again that did not succeed, or sends a waiting one at once.
func (l *Deliveries) RetryDelivery(ctx context.Context, id ledger.DeliveryID, actor string) (ledger.Delivery, error) {
	d, err := l.Store.Delivery(ctx, id)
	if err != nil {
		return d, err
	}
	from := d.Status
	switch from {
	case ledger.DeliveryFailed, ledger.DeliveryUnknown, ledger.DeliveryBlocked, ledger.DeliveryExpired, ledger.DeliveryQueued:
	default:
		return d, &request.Error{Text: fmt.Sprintf("the delivery is %s: only failed, unknown, blocked, expired and queued deliveries can be sent again", from)}
	}
	now := l.Now()
	expires := now.Add(outbound.LifeOf(l.Settings(), sessions.Route{}))
	if d.Route.Handle != "" { // a private answer must not become visible to everyone
		if expires = d.Created.Add(outbound.HandleLife); !expires.After(now) {
			return d, &request.Error{Text: fmt.Sprintf("the delivery is a reply to one person alone, which the platform accepts only within %s of the command: discard the delivery", outbound.HandleLife)}
		}
	}
	d.Status, d.NextTry, d.Expires, d.Finished, d.LastError = ledger.DeliveryQueued, now, expires, time.Time{}, ""
	d.Epoch = 0
	return d, l.change(ctx, from, d, "delivery.retry", actor)
}

// DiscardDelivery removes a delivery from the list of problems. Discarding a held delivery denies it, so the actor
// must be allowed to decide about it; otherwise the error is a [*decider.NotApproverError].
func (l *Deliveries) DiscardDelivery(ctx context.Context, id ledger.DeliveryID, by decider.Verdict) (ledger.Delivery, error) {
	d, err := l.Store.Delivery(ctx, id)
	if err != nil {
		return d, err
	}
	from := d.Status
	if from == ledger.DeliverySent || from == ledger.DeliverySending || from == ledger.DeliveryPreview || from == ledger.DeliveryDiscarded {
		return d, &request.Error{Text: fmt.Sprintf("the delivery is %s: it can't be discarded", from)}
	}
	d.Status, d.Finished, d.Epoch = ledger.DeliveryDiscarded, l.Now(), 0
	var denials []ledger.ApprovalMove
	if from == ledger.DeliveryHeld {
		p, err := l.ApprovalOf(ctx, d)
		if err != nil {
			return d, err
		}
		if p.Status == ledger.ApprovalPending {
			if err := decider.Check(ctx, l.Store, by, p); err != nil {
				return d, err
			}
			denials = append(denials, p.Move(ledger.ApprovalDenied, ledger.GatewaySays("the message was discarded"), by.Actor, l.Now()))
		}
	}
	return d, l.change(ctx, from, d, "delivery.discard", by.Actor, denials...)
}

func (l *Deliveries) change(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, action, actor string, denials ...ledger.ApprovalMove) error {
	err := l.Lanes.Commit(ctx, ledger.Change{
		Deliveries: []ledger.DeliveryMove{{From: from, Delivery: d}}, Approvals: denials,
		Change: sessions.Change{Audit: []sessions.AuditEntry{{At: l.Now(), Actor: actor, Action: action, Object: string(d.ID), Session: d.Session, Label: d.Label}}},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	return nil
}
