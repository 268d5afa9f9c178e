package spending

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/internal/glob"
)

// Tokens is the unit of budgets that count tokens; other units are currencies.
const Tokens = "tokens"

// Scope says whose calls count to one account of a budget.
type Scope string

// The scopes. Each subject (each agent, each person and so on) has an account of its own; the gateway has one for all.
const (
	ScopeGateway  Scope = "gateway"
	ScopeAgent    Scope = "agent"
	ScopePerson   Scope = "person"
	ScopeSession  Scope = "session"
	ScopeJob      Scope = "job"
	ScopeProvider Scope = "provider"
)

// Per is the length of a budget's period.
type Per string

// The periods. A week begins on Monday. A total never ends.
const (
	PerDay   Per = "day"
	PerWeek  Per = "week"
	PerMonth Per = "month"
	PerTotal Per = "total"
)

// Rule is what happens when a call does not fit into a budget.
type Rule string

// The rules.
const (
	RuleStop    Rule = "stop"    // the run ends with a sentence for the person
	RuleCheaper Rule = "cheaper" // the next cheaper model of the chain is asked
	RuleAsk     Rule = "ask"     // an owner may allow more
)

// Budget is a limit on what calls may cost.
type Budget struct {
	Name    string
	Scope   Scope
	Match   []string // patterns of subjects; empty: all
	Limit   int64    // in billionths of the currency, or tokens
	Unit    string   // a currency, or [Tokens]
	Per     Per
	Zone    *time.Location // of the periods
	WarnAt  int            // percent of the limit; 0: the owner is not told
	AtLimit Rule
	// Reserve is the part of the limit that unattended work leaves for people.
	Reserve int64
}

// Subject is whose account a call counts to; false if the budget does not apply.
func (b *Budget) Subject(o *Origin, provider string) (subject string, applies bool) {
	switch b.Scope {
	case ScopeGateway:
		return "", true
	case ScopeAgent:
		subject = o.Agent
	case ScopePerson:
		subject = o.Person
	case ScopeSession:
		subject = string(o.Session)
	case ScopeJob:
		subject = o.Job
	case ScopeProvider:
		subject = provider
	}
	if subject == "" {
		return "", false
	}
	return subject, len(b.Match) == 0 || glob.Names(b.Match, subject)
}

// Period is the period at a time: from its start to before its end. A total has neither.
func (b *Budget) Period(at time.Time) (start, end time.Time) {
	at = at.In(b.zone())
	y, m, d := at.Date()
	switch b.Per {
	case PerDay:
		return b.midnight(y, m, d), b.midnight(y, m, d+1)
	case PerWeek:
		d -= (int(at.Weekday()) + 6) % 7
		return b.midnight(y, m, d), b.midnight(y, m, d+7)
	case PerMonth:
		return b.midnight(y, m, 1), b.midnight(y, m+1, 1)
	}
	return time.Time{}, time.Time{}
}

func (b *Budget) zone() *time.Location {
	if b.Zone == nil {
		return time.UTC
	}
	return b.Zone
}

func (b *Budget) midnight(y int, m time.Month, d int) time.Time {
	return time.Date(y, m, d, 0, 0, 0, 0, b.zone())
}

// Account is the account of a subject in the period at a time.
func (b *Budget) Account(subject string, at time.Time) Account {
	start, end := b.Period(at)
	day := "total"
	if !start.IsZero() {
		day = start.Format(time.RFC3339)
	}
	return Account{
		ID:     strings.Join([]string{"budget", b.Name, string(b.Scope), string(b.Per), b.Unit, day, subject}, "/"),
		Budget: b.Name, Subject: subject, Start: start, End: end,
	}
}

// most is the most that an account may hold and have spent after a call.
func (b *Budget) most(unattended bool) int64 {
	if unattended {
		return max(b.Limit-b.Reserve, 0)
	}
	return b.Limit
}

// Warn is what an account has spent when the owner is told.
func (b *Budget) Warn() int64 {
	const all = 100
	whole, rest := b.Limit/all, b.Limit%all // without an overflow
	return whole*int64(b.WarnAt) + (rest*int64(b.WarnAt)+all-1)/all
}

// Show shows an amount in the budget's unit: 5.00 USD, 20000 tokens.
func (b *Budget) Show(n int64) string {
	if b.Unit == Tokens {
		return strconv.FormatInt(n, 10) + " " + Tokens
	}
	return Money(n).In(b.Unit)
}

// When names the budget's period: "today", "this week".
func (b *Budget) When() string {
	switch b.Per {
	case PerDay:
		return "today"
	case PerWeek:
		return "this week"
	case PerMonth:
		return "this month"
	}
	return "in total"
}

// Reached says that a call does not fit into a budget. Nothing was sent.
type Reached struct {
	Budget  *Budget
	Account Account
	State   State
	Need    int64 // what the call may cost
	Short   int64 // what is missing; 0 or less: there is room by now
	// Unpriced: the model has no price in the budget's currency, so that the budget can't count it.
	Unpriced bool
	Model    string
	Minute   bool // the missing price is that of a minute of audio
	// Unattended: the work is unattended, and the rest of the budget is for people.
	Unattended bool
}

// Error implements error. It says nothing of what others have used: operators of the session's level read it in the audit trail.
func (r *Reached) Error() string {
	if r.Unpriced && r.Minute {
		return fmt.Sprintf("budget %s: model %s has no price for a minute of audio in %s; set minute in models.prices", r.Budget.Name, r.Model, r.Budget.Unit)
	}
	if r.Unpriced {
		return fmt.Sprintf("budget %s: model %s has no price in %s; set models.prices", r.Budget.Name, r.Model, r.Budget.Unit)
	}
	return fmt.Sprintf("budget %s of %s %s has no room for this call, which may cost %s; `sluice usage budgets` shows what is used",
		r.Budget.Name, r.Budget.Show(r.Budget.Limit), r.Budget.When(), r.Budget.Show(r.Need))
}

// Public is the sentence for the person who waits. It says nothing of what others have used.
func (r *Reached) Public() string {
	switch {
	case r.Unpriced:
		return "I may not use my model: its price is not known, and there is a budget. My owner can set it in `models.prices`."
	case r.Account.End.IsZero():
		return "My budget does not cover this, so I stopped. My owner can see why with `sluice runs list --status failed`, and raise the limit in `budgets`."
	}
	return "My budget does not cover this, so I stopped. The next period begins on " + Instant(r.Account.End) + ". My owner can raise the limit in `budgets`."
}

// Instant is a time for people.
func Instant(t time.Time) string { return t.Format("January 2 at 15:04 MST") }
