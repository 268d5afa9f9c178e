package pause

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

// Rounds calls round after the time first, and then regularly, until ctx ends. A round that panics is logged; the next one comes
// as usual.
func Rounds(ctx context.Context, first, every time.Duration, log *slog.Logger, round func(ctx context.Context)) {
	if !Whole(ctx, first) {
		return
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		Guard(log, func() { round(ctx) })
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Guard calls f. A panic is logged.
func Guard(log *slog.Logger, f func()) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("a regular task failed", "err", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	f()
}
