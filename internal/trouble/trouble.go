// Package trouble reports the gateway's own problems as alerts: a channel's account that does not work, deliveries that have
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
	"slices"
	"time"

	"sluice/internal/alert"
	"sluice/internal/pause"
	"sluice/policy/flow"
)

// Times of a [Watch].
const (
	Every  = 30 * time.Second // between two looks
	again  = 5 * time.Minute  // between two reports of a trouble that lasts
	lasts  = 4 * again        // after which an alert expires that is not reported again
	within = 10 * time.Second // for one look and its reports

	tellEach = time.Hour // within it, the owner is told at most once that a trouble begins and once that it ends, across all replicas
)

// Source is the source of the alerts, and the first part of their keys.
const Source = "sluice"

// Trouble is something that is wrong with the gateway.
type Trouble struct {
	Name     string // the key is sluice/<name>
	Severity alert.Severity
	Title    string
	Text     string        // what to do
	Level    flow.Level    // who may know; invalid: everybody
	For      time.Duration // how long it must last before it is reported
	Until    time.Time     // when it ends by itself: until then it stays an alert even if the replica dies; zero: not known
	Once     bool          // after somebody has resolved the alert, it does not fire again before Until
	Over     bool          // the problem is over: the first check ends an alert left by a replica that died
	Told     bool          // another part of the gateway tells the owner if there are no alerts
	Avoid    string        // the channel that does not work: the owner is also told on another channel
}

// Watch reports troubles. All fields are required.
type Watch struct {
	On     func() bool // whether alerts are configured; otherwise the owner is told directly
	Look   func(ctx context.Context) ([]Trouble, error)
	Report func(ctx context.Context, reports []alert.Incoming) error
	// Tell tells the owner once for each key, on a channel that works, and reports whether there was one. It is called if there are
	// no alerts, and for a trouble of a channel, because the alert may be sent on that channel.
	Tell func(ctx context.Context, t *Trouble, text, key string) (told bool, err error)
	Now  func() time.Time
	Log  *slog.Logger

	seen map[string]*known
}

// known is a trouble that the last look has shown.
type known struct {
	Trouble
	since    time.Time // when it was first seen
	reported time.Time // zero: not yet
	untold   bool      // it was reported as it is, but the owner could not be told
	told     bool      // the owner was told that it began
}

// Run looks until ctx ends.
func (w *Watch) Run(ctx context.Context) { pause.Rounds(ctx, Every, Every, w.Log, w.look) }

// look compares what is wrong with what was wrong before.
func (w *Watch) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	troubles, err := w.Look(ctx)
	if err != nil {
		w.Log.Warn("the gateway's own troubles are not known", "err", err)
		return
	}
	on := w.On()
	next, news := w.changed(troubles)
	var reports []alert.Incoming
	for _, n := range news {
		if !n.known {
			reports = append(reports, n.report)
		}
	}
	if on && len(reports) > 0 {
		if err := w.Report(ctx, reports); err != nil {
			w.Log.Warn("the gateway's own troubles are not reported", "err", err)
			return // the next look reports them
		}
	}
	w.tell(ctx, news, on, next)
	w.seen = next
}

// news is a change of a trouble.
type news struct {
	trouble Trouble
	report  alert.Incoming
	again   bool // it was told before, and lasts as bad as it was
	told    bool // the owner was told that it began
	known   bool // it was reported before, and only has to be told
}

// tell tells the owner directly of troubles that begin, change their severity or end: without alerts of all, with alerts only of
// those of channels. If it can't tell a trouble, the next look tells it; the others are told anyway. It tells no end of a trouble
// whose beginning was not told.
func (w *Watch) tell(ctx context.Context, all []news, alerts bool, next map[string]*known) {
	for i := range all {
		n := &all[i]
		t := &n.trouble
		ends := n.report.Action == alert.Resolve
		if n.again || t.Over || ends && !n.told || alerts && t.Avoid == "" || !alerts && t.Told {
			continue
		}
		text, word := t.Title+". "+t.Text, "begins"
		if ends {
			text, word = "Over: "+t.Title+".", "ends"
		} else if t.Severity != "" {
			word += "/" + string(t.Severity)
		}
		key := fmt.Sprintf("%s/%s/%s/%d", Source, t.Name, word, w.Now().Unix()/int64(tellEach/time.Second))
		told, err := w.Tell(ctx, t, text, key)
		if err != nil {
			w.Log.Warn("the owner is not notified of a problem of the gateway", "trouble", t.Name, "err", err)
		}
		if k := next[t.Name]; k != nil {
			k.untold, k.told = !told, k.told || told
		} else if !told {
			next[t.Name] = w.seen[t.Name] // the next look ends it again
		}
	}
}

// changed is what is known after a look, and what to report.
func (w *Watch) changed(troubles []Trouble) (next map[string]*known, all []news) {
	next = map[string]*known{}
	for _, t := range troubles {
		if t.Over {
			if w.seen == nil {
				all = append(all, news{trouble: t, report: w.report(&t, alert.Resolve)})
			}
			continue
		}
		now := known{Trouble: t, since: w.Now()}
		if was := w.seen[t.Name]; was != nil {
			now.since, now.reported, now.told = was.since, was.reported, was.told
			if w.Now().Sub(now.since) < t.For {
				next[t.Name] = &now
				continue
			}
			news := news{trouble: t, report: w.report(&t, alert.Fire), told: was.told}
			changed := was.reported.IsZero() || was.Severity != t.Severity
			switch {
			case changed || w.Now().Sub(was.reported) >= again:
				now.reported, news.again = w.Now(), !changed && !was.untold
				all = append(all, news)
			case was.untold:
				now.untold, news.known = true, true
				all = append(all, news)
			}
		}
		next[t.Name] = &now
	}
	for _, name := range slices.Sorted(maps.Keys(w.seen)) {
		if was := w.seen[name]; next[name] == nil && !was.reported.IsZero() {
			all = append(all, news{trouble: was.Trouble, report: w.report(&was.Trouble, alert.Resolve), told: was.told})
		}
	}
	return next, all
}

func (w *Watch) report(t *Trouble, action alert.Action) alert.Incoming {
	level := t.Level
	if !level.Valid() {
		level = flow.Public
	}
	ends := later(w.Now(), t.Until).Add(lasts)
	if t.Once {
		ends = t.Until // reports with the same end are about the same trouble
	}
	return alert.Incoming{
		Action: action, Key: Source + "/" + t.Name, Severity: t.Severity, Title: t.Title, Text: t.Text, Source: Source,
		Labels: map[string]string{"trouble": t.Name}, Label: flow.NewLabel(level, flow.Trusted), Ends: ends, Once: t.Once,
	}
}

func later(t, u time.Time) time.Time {
	if u.After(t) {
		return u
	}
	return t
}
