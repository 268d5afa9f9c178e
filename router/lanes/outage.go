package lanes

import (
	"context"
	"errors"
	"time"

	"sluice/sessions"
)

// outagePause is the longest pause between two attempts to store something while the database is unavailable.
const outagePause = 5 * time.Second

// Patiently repeats do while the store is unavailable. It returns any other result, or when ctx ends.
func Patiently(ctx context.Context, do func() error) error {
	for failures := 1; ; failures++ {
		err := do()
		if !errors.Is(err, sessions.ErrUnavailable) || Pause(ctx, OutagePause(failures)) != nil {
			return err
		}
	}
}

// OutagePause is the pause after n failures in a row while the database is unavailable.
func OutagePause(n int) time.Duration { return min(Backoff(n), outagePause) }

// Pause waits until the pause is over or ctx ends; then it returns the error of ctx.
func Pause(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
