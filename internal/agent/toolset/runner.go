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
		return r.leftovers.do(ctx, name, caller.Run, func() (sessions.ToolResult, error) {
			return r.attempt(ctx, name, run, caller, args)
		})
	}
}

// attempt runs a tool and turns a panic or an internal fault into a failed call.
func (r *toolRunner) attempt(ctx context.Context, name string, run tools.Func, caller sessions.Caller, args json.RawMessage) (result sessions.ToolResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("tool panicked", "tool", name, "run", string(caller.Run), "err", p, "stack", string(debug.Stack()))
			err = tools.ErrInside
		}
	}()
	result, err = run(ctx, caller, args)
	if inside, ok := errors.AsType[*tools.InsideError](err); ok {
		r.log.Error("tool failed", "tool", name, "run", string(caller.Run), "err", inside)
		return sessions.ToolResult{}, tools.ErrInside
	}
	return result, err
}
