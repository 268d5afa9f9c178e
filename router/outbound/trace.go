package outbound

import (
	"context"
	"time"

	"sluice/adapters"
	"sluice/internal/telemetry"
	"sluice/router/ledger"
)

// traced is deliver in a span.
func traced(ctx context.Context, w *worker, d ledger.Delivery) (time.Duration, error) {
	span := spanOf(ctx, w, &d, telemetry.Parent{})
	defer span.End()
	return w.deliver(telemetry.With(ctx, span), d)
}

// spanOf begins the span of a delivery as a child of parent; zero: of the root span of its trace.
func spanOf(ctx context.Context, w *worker, d *ledger.Delivery, parent telemetry.Parent) *telemetry.Span {
	t := w.out.Tracer
	if !t.On() {
		return nil
	}
	if parent == (telemetry.Parent{}) {
		parent = t.Root(traceOf(ctx, w, d))
	}
	span := t.Under(parent, "deliver", "", telemetry.Internal, w.out.Now())
	if span == nil {
		return nil
	}
	t.Remember(string(d.ID), parent.Trace)
	return span.Text("sluice.delivery", string(d.ID)).Text("sluice.delivery.kind", string(d.Kind)).Text("sluice.run", string(d.Run)).
		Text("messaging.system", d.Route.Channel).Text("sluice.account", d.Route.Account).Size("sluice.delivery.attempts", d.Attempts).
		Size("messaging.message.body.size", len(d.Text)).Size("sluice.files", len(d.Files))
}

// traceOf returns the trace of a delivery: that of the run that it answers, which may be a step of an exchange, or its own.
func traceOf(ctx context.Context, w *worker, d *ledger.Delivery) telemetry.TraceID {
	if d.Run == "" {
		return telemetry.TraceOf(string(d.ID), "")
	}
	if trace, ok := w.out.Tracer.Remembered(string(d.Run)); ok {
		return trace
	}
	chain := ""
	if batch, err := w.out.Composer.Store.Batch(ctx, d.Run); err == nil && len(batch) > 0 { // else retention has removed it, or the gate's read reports the error
		chain = batch[0].Chain.ID
	}
	return telemetry.TraceOf(string(d.Run), chain)
}

// postTraced is post in a span.
func postTraced(ctx context.Context, w *worker, a adapters.Adapter, d *ledger.Delivery, p part) (adapters.Receipt, error) {
	span := telemetry.From(ctx).Child("send", d.Route.Channel, telemetry.Producer)
	receipt, err := w.post(telemetry.With(ctx, span), a, d, p)
	if span != nil {
		span.Text("messaging.system", d.Route.Channel).Text("messaging.operation.type", "send").Size("sluice.part", p.index).Size("messaging.message.body.size", len(p.text))
		if err != nil {
			span.Fail(string(adapters.AsFailure(err).Kind))
		}
		span.End()
	}
	return receipt, err
}
