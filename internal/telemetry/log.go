package telemetry

import (
	"context"
	"log/slog"
)

// Handler adds trace_id to log lines that name a run or a delivery of a trace. Without traces it is the handler itself.
func (t *Tracer) Handler(next slog.Handler) slog.Handler {
	if t == nil {
		return next
	}
	return handler{next, t}
}

type handler struct {
	slog.Handler
	tracer *Tracer
}

// Handle implements [slog.Handler].
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	trace, ok := TraceID{}, false
	if s := From(ctx); s != nil {
		trace, ok = s.trace, true
	}
	r.Attrs(func(a slog.Attr) bool {
		if !ok && (a.Key == "run" || a.Key == "delivery") {
			trace, ok = h.tracer.Remembered(a.Value.String())
		}
		return !ok
	})
	if ok {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", trace.String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.tracer}
}

// WithGroup implements [slog.Handler].
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.tracer}
}
