// Package standing says how much of budgets is used, as far as a reader may know it.
//
// The accounts of a budget count calls of all levels. Only readers who see all levels see them. For other readers, the calls that
// they may see are added up: no call above their level changes a number that they read.
package standing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/sessions/address"
)

// Ledger reads what calls have used and what budgets hold.
type Ledger interface {
	// Sums adds up calls, grouped. Those above the query's level do not exist.
	Sums(ctx context.Context, q spending.Query) ([]spending.Sum, error)
	// Standings reads the accounts of a budget in a period that hold and have spent at least an amount, the fullest first.
	Standings(ctx context.Context, budget string, start time.Time, least int64, limit int) ([]spending.Standing, error)
}

// Standing is how much of a budget a subject has used in the current period.
type Standing struct {
	Budget *spending.Budget
	// Subject is the agent, person, session, job or provider; empty for the gateway.
	Subject    string
	Start, End time.Time // of the period; zero for a total
	Used       int64
	Held       int64 // of it: what calls in progress may cost
	Limit      int64 // with what an owner has added
	// Partial: only calls that the reader may see are counted.
	Partial bool
}

// Left is what is left of the limit; with a partial standing, it is less if others have used the budget.
func (s *Standing) Left() int64 { return max(s.Limit-s.Used, 0) }

// Reader reads standings. All fields are required.
type Reader struct {
	Ledger  Ledger
	Budgets func() []*spending.Budget
	Now     func() time.Time
}

// List returns the standings of all budgets, the fullest first in each, at most a number for each budget. A budget that nobody has
// used has one standing without a subject.
func (r *Reader) List(ctx context.Context, level flow.Level, limit int) (all []Standing, err error) {
	for _, b := range r.Budgets() {
		read := r.visible
		if flow.CanFlow(flow.Restricted, level) {
			read = r.exact
		}
		found, err := read(ctx, b, spending.Query{MaxLevel: level}, limit)
		if err != nil {
			return nil, fmt.Errorf("read budget %s: %w", b.Name, err)
		}
		if len(found) == 0 {
			found = []Standing{r.empty(b, level)}
		}
		all = append(all, found...)
	}
	return all, nil
}

func (r *Reader) empty(b *spending.Budget, level flow.Level) Standing {
	s := Standing{Budget: b, Limit: b.Limit, Partial: !flow.CanFlow(flow.Restricted, level)}
	s.Start, s.End = b.Period(r.Now())
	return s
}

// exact reads the accounts.
func (r *Reader) exact(ctx context.Context, b *spending.Budget, _ spending.Query, limit int) ([]Standing, error) {
	start, _ := b.Period(r.Now())
	found, err := r.Ledger.Standings(ctx, b.Name, start, 1, limit)
	if err != nil {
		return nil, err
	}
	var all []Standing
	for i := range found {
		f := &found[i]
		if f.ID != b.Account(f.Subject, start).ID { // of another scope, period or unit that the budget had before
			continue
		}
		all = append(all, Standing{Budget: b, Subject: f.Subject, Start: f.Start, End: f.End, Used: f.Used(), Held: f.Held, Limit: b.Limit + f.Extra})
	}
	return all, nil
}

// visible adds up the calls of a query.
func (r *Reader) visible(ctx context.Context, b *spending.Budget, q spending.Query, limit int) ([]Standing, error) {
	model := r.empty(b, q.MaxLevel)
	model.Partial = true
	q.Since = model.Start
	if b.Scope != spending.ScopeGateway {
		q.By = []spending.Dimension{spending.Dimension(b.Scope)}
	}
	sums, err := r.Ledger.Sums(ctx, q)
	if err != nil {
		return nil, err
	}
	used := map[string]int64{}
	for i := range sums {
		s := &sums[i]
		subject, applies := b.Subject(&spending.Origin{Agent: s.Agent, Person: s.Person, Session: address.ID(s.Session), Job: s.Job}, s.Provider)
		if !applies {
			continue
		}
		switch b.Unit {
		case spending.Tokens:
			used[subject] += int64(s.Amount.InputTokens) + int64(s.Amount.OutputTokens)
		case s.Currency:
			used[subject] += int64(s.Cost)
		}
	}
	var all []Standing
	for subject, n := range used {
		s := model
		s.Subject, s.Used = subject, n
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(b.Used, a.Used), cmp.Compare(a.Subject, b.Subject))
	})
	return all[:min(len(all), limit)], nil
}

// Of returns the standings of the budgets that the calls of an origin count towards, except those of providers. The query limits
// what is counted, by its level and perhaps an agent or a session.
func (r *Reader) Of(ctx context.Context, o spending.Origin, q spending.Query) (all []Standing, err error) {
	for _, b := range r.Budgets() {
		subject, applies := b.Subject(&o, "")
		if !applies {
			continue
		}
		s := r.empty(b, q.MaxLevel)
		s.Subject, s.Partial = subject, true
		found, err := r.visible(ctx, b, about(q, b.Scope, subject), 1)
		if err != nil {
			return nil, fmt.Errorf("read budget %s: %w", b.Name, err)
		}
		if len(found) == 1 {
			s = found[0]
		}
		all = append(all, s)
	}
	return all, nil
}

// about narrows a query to the subject of a scope.
func about(q spending.Query, scope spending.Scope, subject string) spending.Query {
	switch scope {
	case spending.ScopeAgent:
		q.Agent = subject
	case spending.ScopePerson:
		q.Person = subject
	case spending.ScopeSession:
		q.Session = subject
	case spending.ScopeJob:
		q.Job = subject
	case spending.ScopeGateway, spending.ScopeProvider:
	}
	return q
}
