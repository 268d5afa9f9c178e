package usage

import (
	"context"
	"strconv"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/wire"
	"sluice/internal/spending"
	"sluice/internal/spending/standing"
	"sluice/policy/flow"
)

// Standings reads how much of budgets is used.
type Standings interface {
	// List returns the standings of all budgets that a reader of the level may know, at most a number for each budget.
	List(ctx context.Context, level flow.Level, limit int) ([]standing.Standing, error)
}

// subjectsMax is how many subjects of each budget are listed.
const subjectsMax = 20

// BudgetStanding is how much of a budget a subject has used in the current period.
type BudgetStanding struct {
	Name    string     `json:"name"`
	Scope   string     `json:"scope" enum:"gateway,agent,person,session,job,provider"`
	Subject string     `json:"subject,omitempty" doc:"the agent, person, session, job or provider; absent for the gateway, and if nobody has used the budget"`
	Unit    string     `json:"unit" doc:"a currency, or tokens"`
	Per     string     `json:"per" enum:"day,week,month,total"`
	From    *time.Time `json:"from,omitempty" doc:"when the period began; absent: it has no beginning"`
	Until   *time.Time `json:"until,omitempty"`
	Limit   string     `json:"limit" doc:"an exact decimal number; includes what an owner has added for this period"`
	Used    string     `json:"used" doc:"includes what is reserved for calls in progress"`
	Held    string     `json:"reserved" doc:"the part of used that is reserved for calls in progress"`
	Percent int        `json:"percent" doc:"of the limit, rounded up"`
	Partial bool       `json:"partial,omitempty" doc:"only finished calls within the caller's level are counted; the real use may be higher"`
}

type budgetList struct {
	Budgets []BudgetStanding `json:"budgets" doc:"for each budget, at most 20 subjects: those that have used most of it"`
}

// Budgets answers with the budgets and how much of them is used.
func (a *API) Budgets(ctx context.Context, _ *struct{}) (*wire.Body[budgetList], error) {
	found, err := a.Standings.List(ctx, auth.CallerOf(ctx).Level, subjectsMax)
	if err != nil {
		return nil, err
	}
	out := budgetList{Budgets: []BudgetStanding{}}
	for i := range found {
		out.Budgets = append(out.Budgets, standingOf(&found[i]))
	}
	return wire.NewBody(out), nil
}

func standingOf(s *standing.Standing) BudgetStanding {
	b := s.Budget
	out := BudgetStanding{
		Name: b.Name, Scope: string(b.Scope), Subject: s.Subject, Unit: b.Unit, Per: string(b.Per), Partial: s.Partial,
		Limit: decimal(s.Limit, b.Unit), Used: decimal(s.Used, b.Unit), Held: decimal(s.Held, b.Unit), Percent: percent(s.Used, s.Limit),
	}
	if !s.Start.IsZero() {
		out.From, out.Until = &s.Start, &s.End
	}
	return out
}

// percent is a part of a whole, rounded up.
func percent(part, whole int64) int {
	const all = 100
	switch {
	case part <= 0:
		return 0
	case whole <= 0:
		return all
	}
	n := int(float64(part) / float64(whole) * all)
	if float64(n)*float64(whole) < float64(part)*all {
		n++
	}
	return n
}

func decimal(n int64, unit string) string {
	if unit == spending.Tokens {
		return strconv.FormatInt(n, 10)
	}
	return spending.Money(n).Decimal()
}
