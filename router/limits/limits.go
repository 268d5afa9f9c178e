// Package limits bounds how many messages people, conversations and agents get answered in a period, and how many requests a token
// of the API may make.
//
// A window begins with the first message after the last window has ended. What exceeds the limit is refused until the window
// ends. The counts are in the database, so that they hold for all replicas together. What has no limit is not counted, and
// costs nothing.
//
// An event counts for its own level and all higher ones, and only the count of its own level decides. So nobody reaches a
// limit because of something that they may not see.
package limits

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/router/ledger"
	"sluice/router/usertext"
)

// fullMax is how many counts at their maximum are remembered, so that events above them need no query.
const fullMax = 10_000

// Store keeps the counts.
type Store interface {
	// CountLimits counts one event everywhere, or nowhere if one of the counts is at its maximum. It then returns that
	// count's position and when its window ends; otherwise -1.
	CountLimits(ctx context.Context, counts []ledger.LimitCount, now time.Time) (full int, until time.Time, err error)
}

// Reached is the error for an event above a limit. Its text may be shown to whoever is limited.
type Reached struct {
	ledger.LimitCount
	Until time.Time
	Wait  time.Duration // until then, at least a second
}

// Error implements error. It says nothing about who else has used what is limited.
func (r *Reached) Error() string {
	again := ". Please try again in " + usertext.Duration(r.Wait) + "."
	switch r.Kind {
	case ledger.LimitPerson:
		return fmt.Sprintf("You sent more than %d messages in %s, so I did not accept the last one", r.Rate.Max, usertext.Duration(r.Rate.Per)) + again
	case ledger.LimitConversation:
		return "I can't accept more messages in this conversation at the moment" + again
	case ledger.LimitAgent:
		return "I can't accept more messages at the moment" + again
	}
	return fmt.Sprintf("this token made more than %d requests in %s; try again in %s", r.Rate.Max, usertext.Duration(r.Rate.Per), usertext.Duration(r.Wait))
}

// Reason says to operators which setting refuses a message.
func (r *Reached) Reason() string {
	return fmt.Sprintf(ledger.ForLimit+"%s is reached: %d in %s", r.Kind, r.Rate.Max, usertext.Duration(r.Rate.Per))
}

// Config has what a Counter needs. All fields but Store are required.
type Config struct {
	Store      Store // nil: nothing is limited
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Counter counts. It is safe for concurrent use.
type Counter struct {
	store   Store
	now     func() time.Time
	log     *slog.Logger
	refused *prometheus.CounterVec
	// turn is held while the store counts. One transaction of this process at a time thus locks counts, in the order of their
	// names, and the transactions of several replicas never deadlock.
	turn chan struct{}

	mu   sync.Mutex
	full map[ledger.LimitCount]time.Time // until when counts are at their maximum
}

// New creates a Counter.
func New(c Config) *Counter {
	l := &Counter{
		store: c.Store, now: c.Now, log: c.Log, turn: make(chan struct{}, 1), full: map[ledger.LimitCount]time.Time{},
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "sluice", Subsystem: "limits", Name: "refused_total", Help: "Messages and requests that were refused because a limit is reached.",
		}, []string{"limit"}),
	}
	c.Registerer.MustRegister(l.refused)
	return l
}

// Count counts one event. If it exceeds a limit, it counts nowhere, and the error is a *[Reached].
func (l *Counter) Count(ctx context.Context, all ...ledger.LimitCount) error {
	counts := slices.DeleteFunc(all, func(c ledger.LimitCount) bool { return c.Rate.Max == 0 })
	if len(counts) == 0 || l.store == nil {
		return nil
	}
	slices.SortFunc(counts, func(a, b ledger.LimitCount) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	if r := l.known(counts); r != nil {
		return l.refuse(r)
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-l.turn }()
	if r := l.known(counts); r != nil { // while it waited
		return l.refuse(r)
	}
	full, until, err := l.store.CountLimits(ctx, counts, l.now())
	if err != nil || full < 0 {
		return err
	}
	r := l.reached(counts[full], until)
	l.log.Info("a limit is reached", "limit", string(r.Kind), "of", r.Name, "until", r.Until)
	l.remember(r)
	return l.refuse(r)
}

func (l *Counter) refuse(r *Reached) error {
	l.refused.WithLabelValues(string(r.Kind)).Inc()
	return r
}

func (l *Counter) reached(c ledger.LimitCount, until time.Time) *Reached {
	wait := (until.Sub(l.now()) + time.Second - 1).Truncate(time.Second)
	return &Reached{LimitCount: c, Until: until, Wait: max(wait, time.Second)}
}

// known finds a count that is remembered to be at its maximum. A count whose rate has changed is not remembered.
func (l *Counter) known(counts []ledger.LimitCount) *Reached {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range counts {
		until, full := l.full[c]
		switch {
		case !full:
		case lasts(c, until, l.now()):
			return l.reached(c, until)
		default:
			delete(l.full, c)
		}
	}
	return nil
}

// lasts reports whether a window that ends at until has not ended. One that began more than a period ahead was begun before a
// clock was set back; for the store it has ended, too.
func lasts(c ledger.LimitCount, until, now time.Time) bool {
	return now.Before(until) && !until.After(now.Add(2*c.Rate.Per))
}

func (l *Counter) remember(r *Reached) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.full) >= fullMax {
		now := l.now()
		for c, until := range l.full {
			if !lasts(c, until, now) {
				delete(l.full, c)
			}
		}
	}
	if len(l.full) < fullMax {
		l.full[r.LimitCount] = r.Until
	}
}
