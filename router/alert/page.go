package alert

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sluice/internal/alert"
	"sluice/policy/flow"
)

// Wanted selects a page of alerts.
type Wanted struct {
	Status   string // a status, "open", or "all"; empty: open
	Matchers alert.Matchers
	MaxLevel flow.Level // what is above it is left out
	After    string     // key of the last alert of the page before
	Limit    int        // at least 1
}

const (
	pageRead = 200    // alerts read at a time for a page
	pageMax  = 10_000 // alerts that one page looks through
)

// Page reads a page of alerts, the latest started first. If there may be more, after is what the next page begins behind.
func (a *Alerts) Page(ctx context.Context, w Wanted) (found []Listed, after string, err error) {
	h, err := a.hush(ctx, w.MaxLevel)
	if err != nil {
		return nil, "", err
	}
	notes := notesRead{from: a.Groups, most: w.MaxLevel}
	q := alert.Query{Open: w.Status == "" || w.Status == "open" || alert.Status(w.Status).Open(), MaxLevel: w.MaxLevel, After: w.After, Limit: pageRead}
	for range pageMax / pageRead {
		rows, err := a.Store.ListAlerts(ctx, q)
		if err != nil {
			return nil, "", fmt.Errorf("read alerts: %w", err)
		}
		for i := range rows {
			if len(found) == w.Limit {
				return found, q.After, nil
			}
			q.After = rows[i].Key
			if set := rows[i].Matched(); w.takes(&rows[i], set, a.Now()) {
				l := h.listed(rows[i], set)
				if err := notes.add(ctx, &l); err != nil {
					return nil, "", err
				}
				found = append(found, l)
			}
		}
		if len(rows) < q.Limit {
			return found, "", nil
		}
	}
	return found, q.After, nil
}

// takes reports whether an alert is wanted.
func (w *Wanted) takes(x *alert.Alert, set map[string]string, now time.Time) bool {
	switch w.Status {
	case "", "open":
		if x.Over(now) {
			return false
		}
	case "all":
	default:
		if string(x.Status) != w.Status {
			return false
		}
	}
	return w.Matchers.Matches(set)
}

// Way is where an alert would go: a route that it takes, and whom its receiver tells.
type Way struct {
	Route *alert.Route
	Group string
	Steps []alert.Step
	Quiet bool // the route tells nothing at present
}

// Ways are the routes that an alert would take now, and what would keep it quiet. Nothing is stored.
func (a *Alerts) Ways(ctx context.Context, x alert.Alert, most flow.Level) ([]Way, Listed, error) {
	plan := a.plan.Load()
	if plan == nil {
		return nil, Listed{}, ErrOff
	}
	x.Severity, x.Labels = cmp.Or(x.Severity, alert.Warning), maps.Clone(x.Labels)
	h, err := a.hush(ctx, most)
	if err != nil {
		return nil, Listed{}, err
	}
	set := x.Matched()
	var ways []Way
	for _, route := range plan.Root.Match(set) {
		way := Way{Route: route, Quiet: route.Quiet(a.Now()) || x.Severity != alert.Critical && plan.Quiet.Contain(a.Now())}
		way.Group, _ = groupOf(route, set, &x)
		if to := plan.Receivers[route.Receiver]; to != nil {
			way.Steps = slices.Clone(to.Steps)
		}
		ways = append(ways, way)
	}
	return ways, h.listed(x, set), nil
}
