// Package near tells the owner when a budget is nearly used up: once for each budget and period.
//
// If alerts are configured, this is an alert, which stays open until the period ends. Otherwise it is a message to the owner. Both
// have keys, so replicas and restarts repeat nothing. Both have the level of the owner's chat. The text does not say who has used the budget, nor how much.
package near

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"sluice/internal/alert"
	"sluice/internal/spending"
	"sluice/internal/trouble"
	"sluice/policy/flow"
)

// Ledger reads how full budgets are.
type Ledger interface {
	// Nearly reports whether a budget has an account in a period that has spent at least an amount and what an owner has added to its limit.
	Nearly(ctx context.Context, budget string, start time.Time, least int64) (bool, error)
}

// Watch finds budgets that are nearly used up. All exported fields are required. Tell and Troubles may run at the same time.
type Watch struct {
	Budgets func() []*spending.Budget
	Ledger  Ledger
	Alerts  func() bool // whether alerts tell the owner
	// Level is the owner's own: calls of all levels have used a budget, so others are not told.
	Level func() flow.Level
	// Send sends the owner a message of a level once; further calls with the same key do nothing.
	Send func(ctx context.Context, text, key string, level flow.Level) error
	Now  func() time.Time
	Log  *slog.Logger

	told map[string]time.Time // keys of messages that were stored, and when their period ends; only Tell uses it
}

// found is a budget in the period at a time.
type found struct {
	*spending.Budget
	start, end time.Time
	near       bool
}

// find reads which budgets are nearly used up, without those that have no warnAt and those to skip.
func (w *Watch) find(ctx context.Context, skip func(f *found) bool) (all []found, err error) {
	for _, b := range w.Budgets() {
		f := found{Budget: b}
		f.start, f.end = b.Period(w.Now())
		if b.WarnAt == 0 || skip(&f) {
			continue
		}
		if f.near, err = w.Ledger.Nearly(ctx, b.Name, f.start, b.Warn()); err != nil {
			return nil, fmt.Errorf("read budget %s: %w", b.Name, err)
		}
		all = append(all, f)
	}
	return all, nil
}

func (f *found) title() string {
	of := ""
	switch f.Scope {
	case spending.ScopeGateway:
	case spending.ScopeAgent:
		of = " of an agent"
	default:
		of = " of a " + string(f.Scope)
	}
	return fmt.Sprintf("Budget %s%s: %d%% of the limit is used %s", f.Name, of, f.WarnAt, f.When())
}

const text = "`atLimit` in `budgets` decides what happens at the limit. `sluice usage budgets` shows how much is used."

// Troubles returns the budgets that are nearly used up, for alerts, and those that no longer are: their limits may have been raised
// while no gateway was running.
func (w *Watch) Troubles(ctx context.Context) (all []trouble.Trouble, err error) {
	budgets, err := w.find(ctx, func(*found) bool { return false })
	for i := range budgets {
		f := &budgets[i]
		all = append(all, trouble.Trouble{Name: "budget/" + f.Name, Severity: alert.Warning, Title: f.title(), Text: text, Level: w.Level(), Until: f.end, Once: true, Over: !f.near, Told: true})
	}
	return all, err
}

// Tell sends the owner messages if alerts are not configured.
func (w *Watch) Tell(ctx context.Context) {
	if w.Alerts() {
		return
	}
	budgets, err := w.find(ctx, func(f *found) bool { _, told := w.told[f.key()]; return told })
	if err != nil && ctx.Err() == nil {
		w.Log.Warn("could not check which budgets are nearly used up", "err", err)
	}
	for i := range budgets {
		f := &budgets[i]
		if !f.near {
			continue
		}
		if err := w.Send(ctx, f.title()+". "+text, f.key(), w.Level()); err != nil {
			if ctx.Err() == nil {
				w.Log.Warn("could not tell the owner that a budget is nearly used up", "budget", f.Name, "err", err)
			}
			continue
		}
		w.keep(f)
	}
}

// keep remembers a message that was stored, and forgets those of periods that have ended.
func (w *Watch) keep(f *found) {
	next := map[string]time.Time{f.key(): f.end}
	for key, end := range w.told {
		if end.IsZero() || end.After(w.Now()) {
			next[key] = end
		}
	}
	w.told = next
}

// key names the message about a budget in its period. A changed limit gets another key.
func (f *found) key() string {
	a := f.Account("", f.start)
	return fmt.Sprintf("near/%s/%d", a.ID, f.Warn())
}
