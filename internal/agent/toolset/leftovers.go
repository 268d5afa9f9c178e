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
	// toolGrace is how long a call may continue after its context has ended. Then it is abandoned.
	toolGrace = 2 * time.Second
	// leftMax is how many calls of one tool may be abandoned at the same time. Further calls are refused.
	leftMax = 8
)

// leftovers runs tool calls, and abandons those that do not end soon after their context: no run, /stop or shutdown
// waits for a tool that ignores its context.
//
// Each call has one goroutine. It ends with the call, whose caller waits for it; the goroutine of an abandoned call
// ends when its tool does. It is safe for concurrent use.
type leftovers struct {
	log     *slog.Logger
	now     func() time.Time
	calls   *prometheus.CounterVec // all abandoned calls, by tool
	current *prometheus.GaugeVec   // abandoned calls that are still running, by tool

	mu   sync.Mutex
	left map[string]int // running abandoned calls, by tool
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

// toolCall is one running call of a tool.
type toolCall struct {
	tool   string
	run    sessions.RunID
	began  time.Time
	result sessions.ToolResult
	err    error
	done   chan struct{} // closed when result and err are set

	// Guarded by leftovers.mu.
	ended, left bool
}

// do runs a call and returns its result, or an error if it did not end within toolGrace after ctx.
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
		<-c.done // it has just ended
	}
	return c.result, c.err
}

func (l *leftovers) count(tool string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left[tool]
}

// leave abandons a call; it returns false if the call has ended.
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
