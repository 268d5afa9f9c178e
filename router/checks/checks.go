// Package checks compares what the checks of the configuration find with what they found before.
//
// The last value of a check is a row (ledger.Check). A look at a check reads the row and, if it is older than the check's
// `every`, reads the source and replaces the row: so a check that several heartbeats and jobs use is read once. Two replicas
// that look at once notice each other by the row's revision. Whoever needs a value looks. Who must not be held up by a slow source
// asks instead: [Checks.Ask] looks in a goroutine, at most one for each check, which [Checks.Stop] ends.
//
// A change is news if the check's condition holds. The first value is news only if the check has a condition. The row counts the
// news, so that each user of a check finds out by itself what it has not seen yet, also after a crash. A look that fails
// keeps the value. The owner is told when a check begins to fail and when it works again, in the commit that stores it.
package checks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/check"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Store reads what checks found.
type Store interface {
	Check(ctx context.Context, name string) (ledger.Check, error)
}

// Config has what checks need. All fields are required.
type Config struct {
	Store  Store
	Commit func(ctx context.Context, change ledger.Change) error
	Owner  func(ctx context.Context) (sessions.Route, error) // where the owner is told of failures
	Notice func(route sessions.Route, text string) ledger.Delivery
	Ways   check.Ways
	Now    func() time.Time
	Log    *slog.Logger
	Looks  *prometheus.CounterVec // by check and outcome, see [NewMetrics]
}

// NewMetrics registers the count of looks.
func NewMetrics(reg prometheus.Registerer) *prometheus.CounterVec {
	looks := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "sluice", Subsystem: "check", Name: "looks_total", Help: "Times that the source of a check was read, by outcome: same, changed or error.",
	}, []string{"check", "outcome"})
	reg.MustRegister(looks)
	return looks
}

// Checks are the checks of the configuration. It is safe for concurrent use.
type Checks struct {
	Config

	list  atomic.Pointer[map[string]*entry]
	looks looks
}

// entry is a check. Whoever holds the turn reads its source.
type entry struct {
	*check.Check
	turn chan struct{}
}

// New creates Checks without any check.
func New(c Config) *Checks {
	all := &Checks{Config: c}
	all.looks.begin()
	all.Configure(nil)
	return all
}

// Configure replaces the checks.
func (c *Checks) Configure(list []*check.Check) {
	all := make(map[string]*entry, len(list))
	for _, k := range list {
		all[k.Name] = &entry{k, make(chan struct{}, 1)}
	}
	c.list.Store(&all)
}

// Names are the names of all checks, in order.
func (c *Checks) Names() []string { return slices.Sorted(maps.Keys(*c.list.Load())) }

// ErrUnknown means that no check of that name is configured.
var ErrUnknown = errors.New("no such check")

// Last is a check with what it found last; a row without a revision means that it has not looked yet.
func (c *Checks) Last(ctx context.Context, name string) (*check.Check, ledger.Check, error) {
	e, ok := (*c.list.Load())[name]
	if !ok {
		return nil, ledger.Check{}, ErrUnknown
	}
	row, err := c.read(ctx, e)
	return e.Check, row, err
}

// read reads the row of a check. What an earlier definition found is left out.
func (c *Checks) read(ctx context.Context, e *entry) (ledger.Check, error) {
	row, err := c.Store.Check(ctx, e.Name)
	if errors.Is(err, sessions.ErrNotFound) {
		return ledger.Check{Name: e.Name, Label: e.Label, CheckDetail: ledger.CheckDetail{Plan: e.Plan}}, nil
	}
	if err != nil {
		return row, fmt.Errorf("read check: %w", err)
	}
	if row.Plan != e.Plan {
		row.CheckDetail = ledger.CheckDetail{Plan: e.Plan, News: row.News}
		row.Looked, row.Label = time.Time{}, e.Label
	}
	return row, nil
}

// Look gives what a check finds: what is stored, if that is younger than the check's `every`; else it reads the source. With
// now it always reads the source. A failure of the source is in the row; an error means that the row can't be read or stored.
func (c *Checks) Look(ctx context.Context, name string, now bool) (ledger.Check, error) {
	e, ok := (*c.list.Load())[name]
	if !ok {
		return ledger.Check{}, ErrUnknown
	}
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return ledger.Check{}, context.Cause(ctx)
	}
	row, err := c.read(ctx, e)
	if err != nil || !now && c.fresh(e, &row) {
		return row, err
	}
	next, err := c.look(ctx, e, row)
	if errors.Is(err, sessions.ErrConflict) || errors.Is(err, sessions.ErrDuplicate) {
		return c.read(ctx, e) // another replica has just looked
	}
	return next, err
}

func (c *Checks) fresh(e *entry, row *ledger.Check) bool {
	age := c.Now().Sub(row.Looked)
	return !row.Looked.IsZero() && age >= 0 && age < e.Every
}

// look reads the source and replaces the row.
func (c *Checks) look(ctx context.Context, e *entry, row ledger.Check) (ledger.Check, error) {
	found, failure := e.Look(ctx, c.Ways, row.Value)
	if ctx.Err() != nil {
		return row, context.Cause(ctx)
	}
	next := after(row, found, failure, c.Now())
	next.Label = e.Label
	change := ledger.Change{Checks: []ledger.Check{next}}
	if text := told(&row, &next); text != "" {
		c.Log.Warn("check has begun to fail or works again", "check", e.Name, "fails", next.Fails)
		if route, err := c.Owner(ctx); err != nil {
			c.Log.Warn("could not notify the owner about a check", "check", e.Name, "err", err)
		} else {
			change.Deliver = append(change.Deliver, c.Notice(route, text))
		}
	}
	if err := c.Commit(ctx, change); err != nil {
		return row, fmt.Errorf("store check: %w", err)
	}
	c.Looks.WithLabelValues(e.Name, outcome(&row, &next)).Inc()
	return next, nil
}

func outcome(before, now *ledger.Check) string {
	switch {
	case now.Error != "":
		return "error"
	case now.Hash != before.Hash:
		return "changed"
	}
	return "same"
}

// errorMax bounds the text of an error, in bytes.
const errorMax = 500

// after is the row after a look.
func after(row ledger.Check, found check.Found, failure error, now time.Time) ledger.Check {
	row.Revision, row.Looked = row.Revision+1, now
	if failure != nil {
		text := failure.Error()
		row.Error = strings.ToValidUTF8(text[:min(len(text), errorMax)], "")
		if row.Fails++; row.Fails == 1 {
			row.Failing = now
		}
		return row
	}
	row.Error, row.Failing, row.Fails = "", time.Time{}, 0
	row.Tells = found.Holds && found.Conditional
	first := row.Hash == ""
	if found.Hash == row.Hash {
		return row
	}
	row.Before, row.Value, row.Hash, row.Changed = row.Value, found.Value, found.Hash, now
	if row.Holds = found.Holds; row.Holds && (!first || found.Conditional) {
		row.News++
	}
	return row
}

// told is what the owner is told: that a check begins to fail, or works again. The error itself may quote the source, which has
// a label; so it is not part of the text.
func told(before, now *ledger.Check) string {
	switch {
	case before.Fails == 0 && now.Fails == 1:
		return fmt.Sprintf("The check `%s` fails. `sluice checks list` shows why. You are notified once when it works again.", now.Name)
	case before.Fails > 0 && now.Fails == 0:
		return fmt.Sprintf("The check `%s` works again. It had failed %d times since %s.", now.Name, before.Fails, before.Failing.UTC().Format(time.RFC3339))
	}
	return ""
}
