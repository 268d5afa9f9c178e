package toolset

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/sessions"
)

const (
	// toolGrace is how long a call may go on when its context has ended. Then it is left behind.
	toolGrace = 2 * time.Second
	// leftMax is how many calls of one tool may be left behind at once. Further ones are refused.
	leftMax = 8
)

// leftovers runs calls of tools, and leaves behind those that do not end when their context does: so
// neither a run, nor /stop, nor the end of the gateway waits for a tool that looks at no context.
//
// Each call has one goroutine. It ends with the call, whose caller waits for it; one that is left behind ends
// whenever its tool does. It is safe for concurrent use.
type leftovers struct {
	log     *slog.Logger
	now     func() time.Time
	calls   *prometheus.CounterVec // of those ever left behind, by tool
	current *prometheus.GaugeVec   // of those that have not ended yet, by tool

	mu   sync.Mutex
	left map[string]int // calls that have not ended yet, by tool
}

func newLeftovers(log *slog.Logger, now func() time.Time, reg prometheus.Registerer) *leftovers {
	l := &leftovers{
		log: log, now: now, left: map[string]int{},
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "sluice", Subsystem: "tool", Name: "abandoned_total", Help: "Abandoned tool calls, which did not end in time, by tool.",
		}, []string{"tool"}),
		current: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "sluice", Subsystem: "tool", Name: "abandoned", Help: "Abandoned tool calls that are still running, by tool.",
		}, []string{"tool"}),
	}
	reg.MustRegister(l.calls, l.current)
	return l
}

// toolCall is one call of a tool while it is worked.
type toolCall struct {
	tool   string
	run    sessions.RunID
	began  time.Time
	result sessions.ToolResult
	err    error
	done   chan struct{} // closed when result and err are there

	// Guarded by leftovers.mu.
	ended, left bool
}

// do works a call, and gives its result, or an error when it did not end within toolGrace after ctx.
func (l *leftovers) do(ctx context.Context, tool string, run sessions.RunID, work func() (sessions.ToolResult, error)) (sessions.ToolResult, error) {
	if n := l.count(tool); n >= leftMax {
		return sessions.ToolResult{}, fmt.Errorf("not run: %d earlier calls of %s have not ended yet; use another tool, or try again later", n, tool)
	}
	c := &toolCall{tool: tool, run: run, began: l.now(), done: make(chan struct{})}
	go func() {
		c.result, c.err = work()
		l.end(c)
		close(c.done)
	}()
	select {
	case <-c.done:
		return c.result, c.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(toolGrace)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		if l.leave(c) {
			return sessions.ToolResult{}, fmt.Errorf("the tool did not end, and may still take effect: %w", context.Cause(ctx))
		}
		<-c.done // it has ended just now
	}
	return c.result, c.err
}

func (l *leftovers) count(tool string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left[tool]
}

// leave reports whether a call is left behind: it is not if it has ended.
func (l *leftovers) leave(c *toolCall) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.ended {
		return false
	}
	c.left = true
	l.left[c.tool]++
	l.calls.WithLabelValues(c.tool).Inc()
	l.current.WithLabelValues(c.tool).Inc()
	l.log.Error("tool call abandoned: it did not end in time", "tool", c.tool, "run", string(c.run), "after", l.now().Sub(c.began).String())
	return true
}

func (l *leftovers) end(c *toolCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.ended = true
	if !c.left {
		return
	}
	if l.left[c.tool]--; l.left[c.tool] == 0 {
		delete(l.left, c.tool)
	}
	l.current.WithLabelValues(c.tool).Dec()
	l.log.Info("abandoned tool call has ended; its result is dropped", "tool", c.tool, "run", string(c.run), "after", l.now().Sub(c.began).String())
}
