// Package trouble reports the gateway's own troubles as alerts: a channel's account that does not work, deliveries that have
// failed, a disk that is filling.
//
// A replica checks itself regularly. A trouble that it sees twice is an alert until the replica no longer sees it. The
// alert expires if the replica dies, so that nothing has to be remembered over a restart. Troubles that all replicas see have
// one key, and so are one alert.
package trouble

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"sluice/internal/alert"
	"sluice/policy/flow"
)

// Times of a [Watch].
const (
	Every  = 30 * time.Second // between two looks
	again  = 5 * time.Minute  // between two reports of a trouble that lasts
	lasts  = 4 * again        // after which an alert expires that is not reported again
	within = 10 * time.Second // for one look and its reports
)

// Source is the source of the alerts, and the first part of their keys.
const Source = "sluice"

// Trouble is something that is wrong with the gateway.
type Trouble struct {
	Name     string // the key is sluice/<name>
	Severity alert.Severity
	Title    string
	Text     string     // what to do
	Level    flow.Level // who may know; invalid: everybody
	Until    time.Time  // when it ends by itself: until then it stays an alert even if the replica dies; zero: not known
	Over     bool       // the problem is over: the first check ends an alert left by a replica that died
}

// Watch reports troubles. All fields are required.
type Watch struct {
	On     func() bool // whether alerts are configured; otherwise the gateway does not look
	Look   func(ctx context.Context) ([]Trouble, error)
	Report func(ctx context.Context, reports []alert.Incoming) error
	Now    func() time.Time
	Log    *slog.Logger

	seen map[string]*known
}

// known is a trouble that the last look has shown.
type known struct {
	Trouble
	reported time.Time // zero: not yet
}

// Run looks until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	timer := time.NewTicker(Every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			w.look(ctx)
		}
	}
}

// look compares what is wrong with what was wrong before.
func (w *Watch) look(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			w.Log.Error("the look at the gateway's own troubles failed", "err", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if !w.On() {
		w.seen = nil
		return
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	troubles, err := w.Look(ctx)
	if err != nil {
		w.Log.Warn("the gateway's own troubles are not known", "err", err)
		return
	}
	next, reports := w.changed(troubles)
	if len(reports) > 0 {
		if err := w.Report(ctx, reports); err != nil {
			w.Log.Warn("the gateway's own troubles are not reported", "err", err)
			return // the next look reports them
		}
	}
	w.seen = next
}

// changed is what is known after a look, and what to report.
func (w *Watch) changed(troubles []Trouble) (next map[string]*known, reports []alert.Incoming) {
	next = map[string]*known{}
	for _, t := range troubles {
		if t.Over {
			if w.seen == nil {
				reports = append(reports, w.report(&t, alert.Resolve))
			}
			continue
		}
		now := known{Trouble: t}
		if was := w.seen[t.Name]; was != nil {
			now.reported = was.reported
			if was.reported.IsZero() || was.Severity != t.Severity || w.Now().Sub(was.reported) >= again {
				now.reported = w.Now()
				reports = append(reports, w.report(&t, alert.Fire))
			}
		}
		next[t.Name] = &now
	}
	for _, name := range slices.Sorted(maps.Keys(w.seen)) {
		if was := w.seen[name]; next[name] == nil && !was.reported.IsZero() {
			reports = append(reports, w.report(&was.Trouble, alert.Resolve))
		}
	}
	return next, reports
}

func (w *Watch) report(t *Trouble, action alert.Action) alert.Incoming {
	level := t.Level
	if !level.Valid() {
		level = flow.Public
	}
	return alert.Incoming{
		Action: action, Key: Source + "/" + t.Name, Severity: t.Severity, Title: t.Title, Text: t.Text, Source: Source,
		Labels: map[string]string{"trouble": t.Name}, Label: flow.NewLabel(level, flow.Trusted), Ends: later(w.Now(), t.Until).Add(lasts),
	}
}

func later(t, u time.Time) time.Time {
	if u.After(t) {
		return u
	}
	return t
}
