package operator

import (
	"context"
	"errors"
	"time"

	"sluice/internal/check"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/wire"
	"sluice/router/checks"
	"sluice/router/ledger"
)

// Checks are the checks of the configuration, see [checks.Checks].
type Checks interface {
	Names() []string
	Last(ctx context.Context, name string) (*check.Check, ledger.Check, error)
	Look(ctx context.Context, name string, now bool) (ledger.Check, error)
}

// CheckAPI serves what checks find.
type CheckAPI struct{ Checks Checks }

type checkRecord struct {
	Name    string     `json:"name"`
	Source  string     `json:"source" doc:"what it checks; of an address only the host"`
	Every   string     `json:"every" doc:"minimum time between two readings"`
	Label   string     `json:"label" doc:"of what it finds"`
	Value   string     `json:"value,omitempty" doc:"the last value as JSON, at most 2 KiB of it"`
	Before  string     `json:"before,omitempty" doc:"the value before that"`
	Changed *time.Time `json:"changed,omitempty" doc:"when the value was first seen"`
	Holds   bool       `json:"holds" doc:"its condition (when) holds for the value"`
	Looked  *time.Time `json:"looked,omitempty" doc:"the last look, successful or not"`
	Error   string     `json:"error,omitempty" doc:"why the last look failed"`
	Fails   int        `json:"fails,omitempty" doc:"failed readings since the last successful one"`
	Failing *time.Time `json:"failing,omitempty" doc:"the first of them"`
}

func recordOfCheck(c *check.Check, row *ledger.Check) checkRecord {
	at := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return checkRecord{
		Name: c.Name, Source: c.Source(), Every: c.Every.String(), Label: row.Label.String(), Value: row.Value, Before: row.Before, Changed: at(row.Changed),
		Holds: row.Holds, Looked: at(row.Looked), Error: row.Error, Fails: row.Fails, Failing: at(row.Failing),
	}
}

type checkList struct {
	Checks []checkRecord `json:"checks"`
}

// List lists the checks that the caller may know of.
func (a *CheckAPI) List(ctx context.Context, _ *struct{}) (*wire.Body[checkList], error) {
	out := checkList{Checks: []checkRecord{}}
	for _, name := range a.Checks.Names() {
		c, row, err := a.visible(ctx, name)
		if errors.Is(err, wire.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Checks = append(out.Checks, recordOfCheck(c, &row))
	}
	return wire.NewBody(out), nil
}

// visible is a check that the caller may know of; others look as if they were not configured.
func (a *CheckAPI) visible(ctx context.Context, name string) (*check.Check, ledger.Check, error) {
	c, row, err := a.Checks.Last(ctx, name)
	if errors.Is(err, checks.ErrUnknown) || err == nil && !auth.CallerOf(ctx).Sees(c.Label) {
		err = wire.ErrNotFound
	}
	return c, row, err
}

// Run looks now, whatever the check's `every` says.
func (a *CheckAPI) Run(ctx context.Context, in *struct {
	Check string `path:"check" maxLength:"64" doc:"its name"`
},
) (*wire.Body[checkRecord], error) {
	c, _, err := a.visible(ctx, in.Check)
	if err != nil {
		return nil, err
	}
	row, err := a.Checks.Look(ctx, in.Check, true)
	if err != nil {
		return nil, err
	}
	return wire.NewBody(recordOfCheck(c, &row)), nil
}
