package exchange

import (
	"context"
	"time"

	"sluice/internal/telemetry"
	"sluice/router/ledger"
)

// traced records the start of an exchange, the parent span of its steps.
func (e *Exchanges) traced(ctx context.Context, x *ledger.Exchange, started time.Time) {
	if !e.tracer.On() {
		return
	}
	trace := telemetry.TraceOf(string(x.First), x.Chain.ID)
	own, by := e.tracer.Exchange(trace, x.ID), telemetry.From(ctx).Parent()
	var span *telemetry.Span
	switch by.Trace {
	case trace, telemetry.TraceID{}:
		span = e.tracer.At(own, by, "exchange", telemetry.Producer, started)
	default: // its chain was begun by a version without traces
		span = e.tracer.At(own, telemetry.Parent{}, "exchange", telemetry.Producer, started).Link(by)
	}
	span.Text("sluice.exchange", x.ID).Text("sluice.exchange.kind", string(x.Kind)).Text("gen_ai.agent.id", x.Target.Agent).
		Text("gen_ai.conversation.id", string(x.Target.Session)).Size("messaging.message.body.size", len(x.Request)).End()
}
