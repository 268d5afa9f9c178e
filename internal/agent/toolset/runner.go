package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/agent/tools"
	"sluice/internal/telemetry"
	"sluice/sessions"
)

// toolRunner runs calls of tools.
type toolRunner struct {
	leftovers *leftovers
	log       *slog.Logger
}

func newToolRunner(log *slog.Logger, now func() time.Time, reg prometheus.Registerer) *toolRunner {
	return &toolRunner{leftovers: newLeftovers(log, now, reg), log: log}
}

// guarded isolates the run from a tool's panics and from calls that do not end. Only the operator sees internal
// errors.
func (r *toolRunner) guarded(name string, run tools.Func) tools.Func {
	return func(ctx context.Context, caller sessions.Caller, args json.RawMessage) (sessions.ToolResult, error) {
		within, span := begin(ctx, name, caller.Run)
		result, err := r.leftovers.do(within, name, caller.Run, func() (sessions.ToolResult, error) {
			return attempt(r, name, caller.Run, func() (sessions.ToolResult, error) { return run(within, caller, args) })
		})
		end(span, len(args), &result, err)
		return result, err
	}
}

// guardedPlan does the same for the plan of a sub-agent tool, and for the start of the sub-agent.
func (r *toolRunner) guardedPlan(name string, plan sessions.SubAgent) sessions.SubAgent {
	return func(ctx context.Context, caller sessions.Caller, args json.RawMessage) (sessions.SubAgentPlan, error) {
		p, err := attempt(r, name, caller.Run, func() (sessions.SubAgentPlan, error) { return plan(ctx, caller, args) })
		if start := p.Start; start != nil {
			p.Start = func(ctx context.Context, child sessions.Record) (sessions.ToolResult, error) {
				within, span := begin(ctx, name, caller.Run)
				result, err := r.leftovers.do(within, name, caller.Run, func() (sessions.ToolResult, error) {
					return attempt(r, name, caller.Run, func() (sessions.ToolResult, error) { return start(within, child) })
				})
				end(span, len(args), &result, err)
				return result, err
			}
		}
		return p, err
	}
}

// begin begins the span of a call, if its run is traced.
func begin(ctx context.Context, name string, run sessions.RunID) (context.Context, *telemetry.Span) {
	span := telemetry.From(ctx).Child("execute_tool", name, telemetry.Internal)
	span.Text("gen_ai.operation.name", "execute_tool").Text("gen_ai.tool.name", name).Text("sluice.run", string(run))
	return telemetry.With(ctx, span), span
}

// end ends the span of a call. It has the sizes of the arguments and the result.
func end(span *telemetry.Span, args int, result *sessions.ToolResult, err error) {
	if err != nil || result.Failed {
		span.Fail("tool")
	}
	span.Size("sluice.tool.arguments_bytes", args).Size("sluice.tool.result_bytes", len(result.Text)).End()
}

// attempt does a tool's work and turns a panic or an internal fault into a failed call.
func attempt[T any](r *toolRunner, name string, run sessions.RunID, work func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("tool panicked", "tool", name, "run", string(run), "err", p, "stack", string(debug.Stack()))
			err = tools.ErrInside
		}
	}()
	result, err = work()
	if inside, ok := errors.AsType[*tools.InsideError](err); ok {
		r.log.Error("tool failed", "tool", name, "run", string(run), "err", inside)
		var none T
		return none, tools.ErrInside
	}
	return result, err
}
