// Package traced records model calls as spans, with the names of OpenTelemetry's conventions for generative AI. A span has the
// names of the provider and the model, numbers of tokens and sizes, and never a text.
package traced

import (
	"context"
	"errors"

	"sluice/internal/telemetry"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Wrap decorates a model that is asked with a key of a provider. model is the provider's
// name for it. Only calls whose context has a span are recorded.
func Wrap(provider, model string, asks sessions.Model) sessions.Model {
	return &traced{Model: asks, provider: provider, model: model}
}

type traced struct {
	sessions.Model
	provider, model string
}

var (
	_ sessions.Model      = (*traced)(nil)
	_ sessions.Classified = (*traced)(nil)
	_ sessions.Tempered   = (*traced)(nil)
)

// Classification implements [sessions.Classified].
func (t *traced) Classification() flow.Level { return sessions.ModelLevel(t.Model) }

// MaxTemperature implements [sessions.Tempered].
func (t *traced) MaxTemperature() float32 { return sessions.MaxTemperature(t.Model) }

// Complete implements [sessions.Model].
func (t *traced) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	span := telemetry.From(ctx).Child("chat", t.model, telemetry.Client)
	completion, err := t.Model.Complete(telemetry.With(ctx, span), req, on)
	if span != nil {
		t.record(span, &req, &completion, err)
	}
	return completion, err
}

func (t *traced) record(span *telemetry.Span, req *sessions.Request, c *sessions.Completion, err error) {
	span.Text("gen_ai.operation.name", "chat").Text("gen_ai.provider.name", t.provider).Text("gen_ai.request.model", t.model).
		Size("sluice.request.messages", len(req.Messages)).Size("sluice.request.tools", len(req.Tools)).Size("sluice.request.system_bytes", len(req.System))
	if req.MaxTokens > 0 {
		span.Size("gen_ai.request.max_tokens", req.MaxTokens)
	}
	if req.Temperature != nil {
		span.Real("gen_ai.request.temperature", float64(*req.Temperature))
	}
	if err != nil {
		span.Fail(wordOf(err))
	} else {
		span.Text("gen_ai.response.model", c.Model).Size("gen_ai.usage.input_tokens", c.Usage.InputTokens).Size("gen_ai.usage.output_tokens", c.Usage.OutputTokens).
			Size("gen_ai.usage.cache_read.input_tokens", c.Usage.CachedTokens).Size("gen_ai.usage.cache_creation.input_tokens", c.Usage.WrittenTokens).
			Size("sluice.response.tool_calls", calls(c))
	}
	span.End()
}

func calls(c *sessions.Completion) (n int) {
	for i := range c.Parts {
		if c.Parts[i].Type == sessions.PartToolCall {
			n++
		}
	}
	return n
}

// wordOf is the kind of a failure: its text may quote what was said.
func wordOf(err error) string {
	if fault, ok := errors.AsType[*sessions.ModelError](err); ok {
		return string(fault.Kind)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "refused"
}
