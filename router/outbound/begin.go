package outbound

import (
	"context"

	"sluice/adapters"
	"sluice/internal/faultpoint"
	"sluice/policy"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Begun is an answer whose sending begins in the commit that stores it: its intent needs no commit of its own. The
// answer's conversation sends nothing until [Begun.Stored] or [Begun.NotStored] says what became of the commit.
type Begun struct {
	worker *worker
	lane   lanes.Reserved
	queued ledger.Delivery // the answer without the intent
	intent ledger.Delivery
	to     adapters.Adapter
	parts  []part
	judged []sessions.AuditEntry
}

// Begin adds the answer to a batch of runs to the change that ends the runs. If nothing waits in the answer's conversation
// and the gate lets the answer out, the intent to send it is part of the change. Otherwise Begin returns nil, and the
// conversation's worker finds the answer in the store.
func (o *Outbox) Begin(ctx context.Context, change *ledger.Change, d ledger.Delivery, batch []sessions.Run) *Begun {
	if len(change.Deliver) == 0 { // else the answer is not the first
		if b := o.begin(ctx, d, batch); b != nil {
			change.Begin, change.Audit = []ledger.Delivery{b.intent}, append(change.Audit, b.judged...)
			return b
		}
	}
	change.Deliver = append(change.Deliver, d)
	return nil
}

func (o *Outbox) begin(ctx context.Context, d ledger.Delivery, batch []sessions.Run) *Begun {
	a, ok := o.Adapter(d.Route.Channel, d.Route.Account)
	if !ok {
		return nil
	}
	lane, ok := o.Lanes.Reserve(d.Partition, d.Lane)
	if !ok {
		return nil
	}
	b := &Begun{worker: &worker{out: o, lane: lane.Lane}, lane: lane, queued: d, intent: d, to: a}
	begun := false
	defer func() {
		if !begun {
			lane.Start(b.worker.turn, b.worker.turn)
		}
	}()
	b.intent.Epoch = lane.Epoch()
	// What fails here fails again, and is reported, when the conversation's worker does it.
	var err error
	if b.judged, err = b.worker.judge(ctx, &b.intent, batch); err != nil || b.intent.Decision.Action == policy.Hold || !b.intent.Decision.Passes() {
		return nil
	}
	if b.parts, err = b.worker.parts(ctx, &b.intent, a); err != nil {
		return nil
	}
	b.intent.Status, b.intent.SentAt = ledger.DeliverySending, o.Now()
	faultpoint.Hit(faultpoint.SendBeforeIntent)
	begun = true
	return b
}

// Undo takes the intent out of a change that could not be stored with it. NotStored must follow.
func (b *Begun) Undo(change *ledger.Change) {
	change.Begin, change.Deliver = nil, append(change.Deliver, b.queued)
	change.Audit = change.Audit[:len(change.Audit)-len(b.judged)]
}

// Stored begins to send the answer: the intent is stored.
func (b *Begun) Stored() {
	w := b.worker
	b.lane.Start(func() (lanes.Rest, error) {
		if w.lane.Stopping() {
			return lanes.Rest{}, w.handBack(b.intent)
		}
		wait, err := w.postAll(w.lane.Context(), b.intent, b.to, b.parts)
		return lanes.Rest{Wait: wait}, err
	}, w.turn)
}

// NotStored gives the conversation back to its worker. The intent was not stored, or it is not known whether it was; the
// answer was certainly not sent.
func (b *Begun) NotStored() {
	w := b.worker
	w.unsent = b.intent.ID
	b.lane.Start(func() (lanes.Rest, error) {
		if w.lane.Context().Err() != nil { // the next owner must not take the answer for one that may have been sent
			return lanes.Rest{}, w.handBack(b.intent)
		}
		return w.turn()
	}, w.turn)
}
