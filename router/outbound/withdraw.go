package outbound

import (
	"context"
	"time"

	"sluice/adapters"
	"sluice/router/ledger"
)

// A preview without an answer is deleted: its delivery is queued with an empty text, and the outbox deletes the
// message and marks the delivery as discarded.

// Withdraw ends previews that have no answer. If the platform can't delete messages, the preview stays visible and is
// only dropped here.
func (c *Composer) Withdraw(preview []ledger.DeliveryMove) []ledger.DeliveryMove {
	for i := range preview {
		d := &preview[i].Delivery
		if !c.deletable(*d) {
			d.Status, d.Finished = ledger.DeliveryDiscarded, c.Now()
			continue
		}
		order := c.withdrawal(*d)
		d.Text, d.Status, d.NextTry, d.Expires = "", ledger.DeliveryQueued, order.NextTry, order.Expires
	}
	return preview
}

// deletable reports whether there may be a visible preview that can be deleted.
func (c *Composer) deletable(d ledger.Delivery) bool {
	a, _ := c.Adapter(d.Route.Channel, d.Route.Account)
	_, ok := a.(adapters.Deleter)
	return ok && d.Revises == "" && len(d.Receipts) == 0 && (d.PreviewID != "" || d.LostPreview != "")
}

// withdrawal is the order to delete the preview of a delivery that is not sent.
func (c *Composer) withdrawal(d ledger.Delivery) ledger.Delivery {
	order := c.Delivery(d.Kind, d.Route, "", d.Label)
	order.Session, order.Run, order.PreviewID = d.Session, d.Run, d.PreviewID
	return order
}

// takeBack deletes the message of a preview. Repeating it is harmless.
func (w *worker) takeBack(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, a adapters.Adapter) (time.Duration, error) {
	deleter, ok := a.(adapters.Deleter)
	if !ok || d.PreviewID == "" {
		return 0, w.out.Journal.Discard(ctx, from, d, "")
	}
	if err := w.intend(ctx, from, &d); err != nil {
		return 0, err
	}
	call, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := deleter.Delete(call, d.Route, d.PreviewID)
	if err == nil {
		return 0, w.out.Journal.Discard(ctx, d.Status, d, "")
	}
	f := *adapters.AsFailure(err)
	f.Certain = true // repeating a deletion is harmless
	if f.Final() {
		return 0, w.out.Journal.Discard(ctx, d.Status, d, "its preview could not be deleted: "+f.Error())
	}
	return w.failed(ctx, a, d, &f)
}
