package outbound

import (
	"context"
	"slices"

	"sluice/internal/telemetry"
	"sluice/policy"
	"sluice/router/ledger"
	"sluice/sessions"
)

// judge asks the gate about a delivery that is about to be sent, and redacts it. The audit entry is for the following
// commit; it is nil if the decision has not changed. end is the change that the delivery is a part of; nil if the delivery
// is stored already.
func (w *worker) judge(ctx context.Context, d *ledger.Delivery, end *ending) ([]sessions.AuditEntry, error) {
	record, err := w.sessionOf(ctx, *d)
	if err != nil {
		return nil, err
	}
	var batch []sessions.Run // nil: they are read
	if end != nil {
		record, batch = end.session(record), end.runs
	}
	leaving, err := w.out.Composer.egress(ctx, *d, record, batch)
	if err != nil {
		return nil, err
	}
	leaving.Effects = true
	span := telemetry.From(ctx).Child("gate", "", telemetry.Internal)
	decision := w.out.Composer.Gate.Decide(leaving)
	span.Text("sluice.delivery", string(d.ID)).Text("sluice.decision", string(decision.Action)).Size("messaging.message.body.size", len(leaving.Text)).End()
	if decision.Action == policy.Hold {
		if err := w.out.Held.AllowedBefore(ctx, *d, &decision); err != nil {
			return nil, err
		}
	}
	before := d.Decision
	decision.KeepRedaction(before)
	if decision.Action != policy.Block {
		redact(d, &decision)
	}
	d.Decision = &decision
	if decision.Same(before) {
		return nil, nil
	}
	return []sessions.AuditEntry{w.out.Journal.Audit(*d, "delivery."+string(decision.Action), decision)}, nil
}

// redact redacts a delivery's texts. A delivery that is partly sent can no longer be changed.
func redact(d *ledger.Delivery, decision *policy.Decision) {
	if !decision.Redacts() {
		return
	}
	text := decision.Redacted(d.Text)
	changed := text != d.Text
	for _, chunk := range d.Parts {
		changed = changed || decision.Redacted(chunk) != chunk
	}
	if changed && len(d.Receipts) > 0 {
		decision.Action, decision.Reason = policy.Block, "a rule began to redact the message after part of it was sent: the rest is not sent"
		return
	}
	if changed {
		d.Text, d.Parts = text, nil
	}
	buttons := slices.Clone(d.Buttons)
	for i := range buttons {
		b := &buttons[i]
		b.Label, b.Value = decision.Redacted(b.Label), decision.Redacted(b.Value)
	}
	decision.Removed = decision.Removed || changed || !slices.Equal(buttons, d.Buttons)
	d.Buttons = buttons
}
