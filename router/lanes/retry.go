package lanes

import (
	"context"
	"errors"
	"time"

	"sluice/internal/pause"
	"sluice/sessions"
)

// SettleTimeout bounds the writes that a worker makes after its context has ended.
const SettleTimeout = 3 * time.Second

// outagePause is the longest pause between two attempts to store something while the database is unavailable.
const outagePause = 5 * time.Second

// Backoff is the pause after n failures in a row. It is not spread: each lane has one worker.
func Backoff(n int) time.Duration { return pause.Nth(100*time.Millisecond, 30*time.Second, n+1) }

// Patiently repeats do while the store is unavailable. It returns any other result, or when ctx ends.
func Patiently(ctx context.Context, do func() error) error {
	for failures := 1; ; failures++ {
		err := do()
		if !errors.Is(err, sessions.ErrUnavailable) || pause.Wait(ctx, OutagePause(failures)) != nil {
			return err
		}
	}
}

// OutagePause is the pause after n failures in a row while the database is unavailable.
func OutagePause(n int) time.Duration { return min(Backoff(n), outagePause) }

// FinishWithin is how long a call may continue after its partition was released. If a call is cut off, nobody knows whether the
// message arrived. The release waits this long anyway.
const FinishWithin = 2 * time.Second

// UntilAnswered bounds a call to a platform.
func UntilAnswered(ctx context.Context, bound time.Duration) (call context.Context, end func()) {
	call, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	timer := time.AfterFunc(bound, func() { cancel(context.DeadlineExceeded) })
	stop := context.AfterFunc(ctx, func() { timer.Reset(FinishWithin) })
	return call, func() {
		stop()
		timer.Stop()
		cancel(nil)
	}
}
