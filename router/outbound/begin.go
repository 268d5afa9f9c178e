package outbound

import (
	"context"

	"sluice/adapters"
	"sluice/internal/faultpoint"
	"sluice/internal/telemetry"
	"sluice/policy"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Begun is an answer whose sending begins in the commit that stores it: its intent needs no commit of its own. The
// answer's conversation sends nothing until [Begun.Stored] or [Begun.NotStored] says whether the commit succeeded.
type Begun struct {
	worker *worker
	lane   lanes.Reserved
	queued ledger.Delivery // the answer without the intent
	intent ledger.Delivery
	to     adapters.Adapter
	parts  []part
	judged []sessions.AuditEntry
	traced telemetry.Parent
}

// Begin adds the answer to a batch of runs to the change that ends the runs. If nothing waits in the answer's conversation
// and the gate lets the answer out, the intent to send it is part of the change. Otherwise Begin returns nil, and the
// conversation's worker finds the answer in the store.
func (o *Outbox) Begin(ctx context.Context, change *ledger.Change, d ledger.Delivery, batch []sessions.Run) *Begun {
	if len(change.Deliver) == 0 { // else the answer is not the first
		if b := o.begin(ctx, d, &ending{runs: batch, saved: change.Save}); b != nil {
			change.Begin, change.Audit = []ledger.Delivery{b.intent}, append(change.Audit, b.judged...)
			return b
		}
	}
	change.Deliver = append(change.Deliver, d)
	return nil
}

// ending has the rows of a change that ends runs, as far as the gate needs them.
type ending struct {
	runs  []sessions.Run
	saved []sessions.Record
}

// session is a stored session as it will be once the change is stored: an answer may contain what the session has
// learnt since it was stored last.
func (e *ending) session(stored sessions.Record) sessions.Record {
	for _, r := range e.saved {
		if r.ID == stored.ID {
			stored.Agent, stored.Taint, stored.Route = r.Agent, r.Taint, r.Route
		}
	}
	return stored
}

func (o *Outbox) begin(ctx context.Context, d ledger.Delivery, end *ending) *Begun {
	a, ok := o.Adapter(d.Route.Channel, d.Route.Account)
	if !ok {
		return nil
	}
	lane, ok := o.Lanes.Reserve(d.Partition, d.Lane)
	if !ok {
		return nil
	}
	b := &Begun{worker: o.worker(lane.Lane), lane: lane, queued: d, intent: d, to: a, traced: telemetry.From(ctx).Parent()}
	begun := false
	defer func() {
		if !begun {
			lane.Start(b.worker.turn, b.worker.turn)
		}
	}()
	b.intent.Epoch = lane.Epoch()
	// What fails here fails again, and is reported, when the conversation's worker does it.
	var err error
	if b.judged, err = b.worker.judge(ctx, &b.intent, end); err != nil || b.intent.Decision.Action == policy.Hold || !b.intent.Decision.Passes() {
		return nil
	}
	if b.parts, err = partsOf(ctx, o.Store, &b.intent, a); err != nil {
		return nil
	}
	b.intent.Status, b.intent.SentAt = ledger.DeliverySending, o.Now()
	faultpoint.Hit(faultpoint.SendBeforeIntent)
	begun = true
	return b
}

// Undo takes the intent out of a change that could not be stored with it. NotStored must follow.
func (b *Begun) Undo(change *ledger.Change) {
	change.Begin, change.Deliver = nil, append([]ledger.Delivery{b.queued}, change.Deliver...)
	change.Audit = change.Audit[:len(change.Audit)-len(b.judged)]
}

// Stored begins to send the answer: the intent is stored. If that took long, because the database was unavailable, the
// gate is asked again, and the intent gets the time of the call, from which a lookup counts.
func (b *Begun) Stored() {
	w := b.worker
	if w.late(b.intent) {
		b.NotStored()
		return
	}
	b.lane.Start(func() (lanes.Rest, error) {
		if w.lane.Stopping() {
			return lanes.Rest{}, w.out.Journal.HandBack(b.intent)
		}
		var span *telemetry.Span
		if b.traced != (telemetry.Parent{}) {
			span = spanOf(w.lane.Context(), w, &b.intent, b.traced)
		}
		wait, err := w.postAll(telemetry.With(w.lane.Context(), span), b.intent, b.to, b.parts)
		span.End()
		return lanes.Rest{Wait: wait}, err
	}, w.turn)
}

// NotStored gives the conversation back to its worker. The answer was certainly not sent, whether or not its intent was
// stored.
func (b *Begun) NotStored() {
	w := b.worker
	w.unsent = b.intent.ID
	b.lane.Start(func() (lanes.Rest, error) {
		if w.lane.Stopping() || w.lane.Context().Err() != nil { // the next owner must not take the answer for one that may have been sent
			return lanes.Rest{}, w.out.Journal.HandBack(b.intent)
		}
		return w.turn()
	}, w.turn)
}
