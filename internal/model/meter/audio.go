package meter

import (
	"context"
	"time"

	"sluice/internal/spending"
	"sluice/policy/flow"
)

// Audio describes a call of a speech server.
type Audio struct {
	Provider, Key, Model string
	Level                flow.Level    // of what is said
	Longest              time.Duration // the most that the recording can last
}

// Hear makes a call of a speech server within budgets. ask makes the call, and returns the length of the recording; 0 if it is
// not known. The error is that of ask, or a *[spending.Reached] if the call exceeds a budget and was not made.
func (m *Meter) Hear(ctx context.Context, a Audio, ask func(context.Context) (time.Duration, error)) error {
	c := &counted{ctx: ctx, meter: m, audio: max(whole(a.Longest), time.Second), posting: spending.Posting{Call: spending.Call{
		ID: callID(), Origin: spending.OriginOf(ctx), Provider: a.Provider, Key: a.Key, Model: a.Model, Level: a.Level, Started: m.Now(),
	}}}
	c.find()
	if err := c.reserve(ctx); err != nil {
		return err
	}
	defer c.left()
	lasted, err := ask(ctx)
	c.note(spending.Amount{Audio: whole(lasted)}, err)
	c.store(ctx)
	return err
}

// whole rounds up to seconds, as providers do.
func whole(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }
