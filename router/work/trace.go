package work

import (
	"sluice/internal/telemetry"
	"sluice/sessions"
)

// traces makes the spans of runs.
type traces struct{ *telemetry.Tracer }

// placeOf returns the parent of a run's spans: the step's exchange, or else the root span of the trace.
func (t traces) placeOf(run *sessions.Run) telemetry.Parent {
	trace := telemetry.TraceOf(string(run.ID), run.Chain.ID)
	if run.Exchange != "" {
		return t.Exchange(trace, run.Exchange)
	}
	return t.Root(trace)
}

// waited records how long the runs of a batch have waited since their commit. It returns the span of the first run.
func (t traces) waited(batch []sessions.Run) (first *telemetry.Span) {
	if !t.On() {
		return nil
	}
	for i := range batch {
		run := &batch[i]
		place := t.placeOf(run)
		t.Remember(string(run.ID), place.Trace)
		if run.Attempts > 1 {
			continue
		}
		span := t.Under(place, "wait", "", telemetry.Internal, run.Accepted)
		if run.Kind == sessions.KindTrigger { // no event has begun its trace
			span = t.At(place, telemetry.Parent{}, "wait", telemetry.Internal, run.Accepted)
		}
		span.Text("sluice.run", string(run.ID)).Text("sluice.run.kind", string(run.Kind))
		if i > 0 {
			span.Link(t.placeOf(&batch[0]))
		} else {
			first = span
		}
		span.EndAt(run.Started)
	}
	return first
}

// begin begins the span of the agent's work.
func (t traces) begin(j *job) *telemetry.Span {
	if !t.On() {
		return nil
	}
	run := &j.batch[0]
	span := t.Under(t.placeOf(run), "invoke_agent", j.record.Agent, telemetry.Internal, run.Started)
	if span == nil {
		return nil
	}
	span.Text("gen_ai.operation.name", "invoke_agent").Text("gen_ai.agent.id", j.record.Agent).Text("gen_ai.conversation.id", string(j.id)).
		Text("sluice.run", string(run.ID)).Text("sluice.run.kind", string(run.Kind)).Text("sluice.exchange", run.Exchange).
		Size("sluice.run.attempt", run.Attempts).Size("sluice.run.messages", len(j.batch)).Size("sluice.input.bytes", len(run.Input.Text))
	for i := range j.batch[1:] {
		span.Link(t.placeOf(&j.batch[i+1]))
	}
	return span
}

// traced ends the span of the agent's work.
func (w *worked) traced(span *telemetry.Span, status sessions.RunStatus) {
	if span == nil {
		return
	}
	span.Text("sluice.run.status", string(status))
	if status == sessions.RunDone {
		span.Text("gen_ai.response.model", w.answer.Model).Size("gen_ai.usage.input_tokens", w.answer.Usage.InputTokens).
			Size("gen_ai.usage.output_tokens", w.answer.Usage.OutputTokens).Size("sluice.output.bytes", len(w.answer.Text))
	} else if status.Terminal() && status != sessions.RunAborted {
		span.Fail(string(status))
	}
	span.End()
}
