package alert

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/alert"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Listed is an alert with what keeps it quiet at present.
type Listed struct {
	alert.Alert
	Silences    []alert.Silence // that match it
	InhibitedBy []string        // keys of alerts
	Notes       []alert.Note    // that tell of it, the newest first; only of a page of alerts and of a single one
}

// SilencedBy are the ids of the silences.
func (l *Listed) SilencedBy() (ids []string) {
	for i := range l.Silences {
		ids = append(ids, l.Silences[i].ID)
	}
	return ids
}

// quiet reports whether something keeps the alert quiet.
func (l *Listed) quiet() bool { return len(l.Silences)+len(l.InhibitedBy) > 0 }

// Filter selects alerts.
type Filter struct {
	alert.Query
	Matchers alert.Matchers
}

// List reads alerts, the latest started first.
func (a *Alerts) List(ctx context.Context, f Filter) ([]Listed, error) {
	rows, err := a.Store.ListAlerts(ctx, f.Query)
	if err != nil {
		return nil, fmt.Errorf("read alerts: %w", err)
	}
	h, err := a.hush(ctx, f.MaxLevel)
	if err != nil {
		return nil, err
	}
	var all []Listed
	for i := range rows {
		set := rows[i].Matched()
		if f.Open && rows[i].Over(a.Now()) || !f.Matchers.Matches(set) {
			continue
		}
		all = append(all, h.listed(rows[i], set))
	}
	return all, nil
}

// Show reads an alert with the notifications of its groups. It returns ErrNotFound if the reader may not know an alert of this key.
func (a *Alerts) Show(ctx context.Context, key string, most flow.Level) (Listed, error) {
	rows, err := a.Store.AlertsByKey(ctx, []string{key})
	if err != nil {
		return Listed{}, fmt.Errorf("read alert: %w", err)
	}
	if len(rows) == 0 || !rows[0].Label.FlowsTo(most) {
		return Listed{}, sessions.ErrNotFound
	}
	h, err := a.hush(ctx, most)
	if err != nil {
		return Listed{}, err
	}
	l := h.listed(rows[0], rows[0].Matched())
	notes := notesRead{from: a.Groups, most: most}
	err = notes.add(ctx, &l)
	return l, err
}

// notesRead are the newest notifications of groups that a reader may know, each group's read once.
type notesRead struct {
	from ledger.AlertGroups
	most flow.Level
	read map[string][]alert.Note
}

// of reads those of a group, the newest first.
func (n *notesRead) of(ctx context.Context, group string) ([]alert.Note, error) {
	if some, ok := n.read[group]; ok {
		return some, nil
	}
	some, err := n.from.GroupNotes(ctx, group, notesMax)
	if err != nil {
		return nil, fmt.Errorf("read notifications: %w", err)
	}
	if n.read == nil {
		n.read = map[string][]alert.Note{}
	}
	n.read[group] = slices.DeleteFunc(some, func(x alert.Note) bool { return !x.Label.FlowsTo(n.most) })
	return n.read[group], nil
}

// add adds the notifications that tell of an alert.
func (n *notesRead) add(ctx context.Context, l *Listed) error {
	for _, group := range l.Groups {
		some, err := n.of(ctx, group)
		if err != nil {
			return err
		}
		for _, note := range some {
			if slices.Contains(note.Alerts, l.Key) {
				l.Notes = append(l.Notes, note)
			}
		}
	}
	return nil
}

// Find reads an alert by its key or short name. An alert that the reader may not know does not hide others of that name. It returns
// ErrNotFound if the reader may not know any.
func (a *Alerts) Find(ctx context.Context, name string, most flow.Level) (alert.Alert, error) {
	rows, err := a.Store.AlertsByKey(ctx, []string{name})
	if err != nil {
		return alert.Alert{}, fmt.Errorf("read alert: %w", err)
	}
	if len(rows) > 0 && rows[0].Label.FlowsTo(most) {
		return rows[0], nil
	}
	if !strings.HasPrefix(name, alert.RefPrefix) {
		return alert.Alert{}, sessions.ErrNotFound
	}
	found, err := a.byRef(ctx, name, most)
	switch {
	case err != nil:
		return alert.Alert{}, fmt.Errorf("read alerts: %w", err)
	case len(found) == 0:
		return alert.Alert{}, sessions.ErrNotFound
	}
	return found[0], nil
}

// notesMax is how many notifications of a group are shown.
const notesMax = 50

// Silences reads the silences that end after a time.
func (a *Alerts) Silences(ctx context.Context, after time.Time, most flow.Level) ([]alert.Silence, error) {
	return a.Store.ListSilences(ctx, after, most)
}

// Silence reads a silence. It returns ErrNotFound if the reader may not know one of this id.
func (a *Alerts) Silence(ctx context.Context, id string, most flow.Level) (alert.Silence, error) {
	s, err := a.Store.Silence(ctx, id)
	if err == nil && !s.Label.FlowsTo(most) {
		err = sessions.ErrNotFound
	}
	return s, err
}

// hushing knows what keeps alerts quiet at a time.
type hushing struct {
	plan     *alert.Plan
	silences []hushedBy
	sources  []alert.Alert // open alerts that may inhibit others
}

type hushedBy struct {
	alert.Silence
	matchers alert.Matchers
}

// hush reads what keeps alerts quiet now, as far as a reader of a level may know.
func (a *Alerts) hush(ctx context.Context, most flow.Level) (*hushing, error) {
	now := a.Now()
	h := &hushing{plan: a.plan.Load()}
	stored, err := a.Store.ListSilences(ctx, now, most)
	if err != nil {
		return nil, fmt.Errorf("read silences: %w", err)
	}
	for _, s := range stored {
		if s.State(now) != "active" {
			continue
		}
		m, err := alert.Compile(s.Matchers)
		if err != nil { // it was stored by another version; better one alert too many than all of them stuck
			a.Log.Error("silence can't be read, its alerts are sent", "silence", s.ID, "err", err)
			continue
		}
		h.silences = append(h.silences, hushedBy{s, m})
	}
	if h.plan == nil || len(h.plan.Inhibitions) == 0 {
		return h, nil
	}
	if h.sources, err = a.Store.ListAlerts(ctx, alert.Query{Open: true, MaxLevel: most, Severities: alert.SourceSeverities(h.plan.Inhibitions)}); err != nil {
		return nil, fmt.Errorf("read alerts: %w", err)
	}
	h.sources = slices.DeleteFunc(h.sources, func(x alert.Alert) bool {
		set := x.Matched()
		return x.Discreet || x.Over(now) || !slices.ContainsFunc(h.plan.Inhibitions, func(i alert.Inhibition) bool { return i.Source.Matches(set) })
	})
	return h, nil
}

// hushed reports whether an alert is silenced or inhibited now.
func (h *hushing) hushed(x *alert.Alert, _ time.Time) bool {
	l := h.listed(*x, x.Matched())
	return l.quiet()
}

// scene is what a decision about a group depends on, except the arrival of its messages.
func (h *hushing) scene(g alert.Group, members []alert.Alert, now time.Time) alert.Scene {
	route := h.plan.Root.Find(g.Route)
	if route != nil && route.Receiver != g.Receiver {
		route = nil
	}
	return alert.Scene{Plan: h.plan, Route: route, Receiver: h.plan.Receivers[g.Receiver], Group: g, Alerts: members, Hushed: h.hushed, Now: now}
}

func (h *hushing) listed(x alert.Alert, set map[string]string) Listed {
	l := Listed{Alert: x}
	for _, s := range h.silences {
		if s.Reaches(x.Label) && s.matchers.Matches(set) {
			l.Silences = append(l.Silences, s.Silence)
		}
	}
	for i := range h.sources {
		source := h.sources[i].Matched()
		if h.sources[i].Key != x.Key && slices.ContainsFunc(h.plan.Inhibitions, func(i alert.Inhibition) bool { return i.Applies(source, set) }) {
			l.InhibitedBy = append(l.InhibitedBy, h.sources[i].Key)
		}
	}
	return l
}
