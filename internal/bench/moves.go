package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/pause"
)

const (
	movePeople = 64                     // people who write while partitions move
	moveRest   = 500 * time.Millisecond // after each answer
	moveEvery  = 10 * time.Millisecond  // how often the epochs are read
	// moveQuiet is how long no partition may get another owner until all have moved. It is longer than a lease.
	moveQuiet = 8 * time.Second
)

// move is one way in which partitions get other owners.
type move struct {
	what    string
	happens func(ctx context.Context, f *fleet) error

	took, waited []float64 // seconds until the last partition had its owner, and that a person waited at most
}

// measureMoves lets a third replica join, leave and die while people write.
func (b *bench) measureMoves(ctx context.Context, cluster *postgres) (string, error) {
	join := func(ctx context.Context, f *fleet) error {
		return f.add(ctx, b.newState())
	}
	moves := []*move{
		{what: "nothing happens", happens: func(context.Context, *fleet) error { return nil }},
		{what: "a third replica starts", happens: join},
		{what: "it is ended in an orderly way (SIGTERM)", happens: func(_ context.Context, f *fleet) error { return f.remove(false) }},
		{what: "a third replica starts again", happens: join},
		{what: "it is killed (SIGKILL)", happens: func(_ context.Context, f *fleet) error { return f.remove(true) }},
	}
	for range b.rounds {
		if err := b.moveRound(ctx, cluster, moves); err != nil {
			return "", err
		}
	}
	var out strings.Builder
	out.WriteString("| 2 replicas, 64 people who write; then | until the last partition has its new owner | longest wait of a message |\n| --- | --- | --- |\n")
	for _, m := range moves {
		took := row{values: slices.Sorted(slices.Values(m.took)), format: hundredths}
		waited := row{values: slices.Sorted(slices.Values(m.waited)), format: hundredths}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", m.what, took.text(), waited.text())
	}
	return out.String(), nil
}

func hundredths(v float64) string { return fmt.Sprintf("%.2f s", v) }

func (b *bench) moveRound(ctx context.Context, cluster *postgres, moves []*move) error {
	f, err := b.newFleet(ctx, cluster, 1)
	if err != nil {
		return err
	}
	defer f.close()
	for range 2 {
		if err := f.add(ctx, b.newState()); err != nil {
			return err
		}
	}
	if _, err := f.settled(ctx, time.Now()); err != nil {
		return err
	}
	c := &crowd{people: f.audience, first: firstPerson, rest: moveRest}
	c.begin(movePeople)
	if err := pause.Wait(ctx, warmUp); err != nil {
		return err
	}
	for _, m := range moves {
		c.takeLongest()
		began := time.Now()
		happened := make(chan error, 1)
		go func() { happened <- m.happens(ctx, f) }() // received below
		took, err := f.settled(ctx, began)
		if failed := <-happened; failed != nil {
			return fmt.Errorf("%s: %w", m.what, failed)
		}
		if err != nil {
			return err
		}
		m.took, m.waited = append(m.took, took.Seconds()), append(m.waited, c.takeLongest().Seconds())
	}
	return c.end(ctx)
}

// settled waits until no partition gets another owner any more. It returns when the last one got its owner, counted
// from a moment.
func (f *fleet) settled(ctx context.Context, from time.Time) (time.Duration, error) {
	last, seen := from, int64(-1)
	for first := true; ; first = false {
		epochs, err := f.epochs(ctx)
		if err != nil {
			return 0, err
		}
		if epochs != seen && !first {
			last = time.Now()
		}
		seen = epochs
		if time.Since(last) > moveQuiet {
			return last.Sub(from), nil
		}
		if err := pause.Wait(ctx, moveEvery); err != nil {
			return 0, err
		}
	}
}
