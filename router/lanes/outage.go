package lanes

import (
	"context"
	"errors"
	"time"

	"sluice/sessions"
)

// outagePause is the longest pause between two tries to store something while the database is away.
const outagePause = 5 * time.Second

// Patiently repeats what the store can't do while it is away. It ends with another outcome, or with ctx.
func Patiently(ctx context.Context, do func() error) error {
	for failures := 1; ; failures++ {
		err := do()
		if !errors.Is(err, sessions.ErrUnavailable) || Pause(ctx, OutagePause(failures)) != nil {
			return err
		}
	}
}

// OutagePause is the pause before another try after n failures in a row, while the database is away.
func OutagePause(n int) time.Duration { return min(Backoff(n), outagePause) }

// Pause waits, but not beyond ctx, whose error it returns.
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
