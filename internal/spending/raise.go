package spending

import "fmt"

// Raise adds to the limit of an account, in its period.
type Raise struct {
	Account Account `json:"account"`
	Extra   int64   `json:"extra"` // in the budget's unit
	Shown   string  `json:"shown"` // the amount for people: 1.00 USD
	When    string  `json:"when"`  // the period for people: today
}

// String is the raise for people: 1.00 USD more for budget house today.
func (r *Raise) String() string {
	return fmt.Sprintf("%s more for budget %s %s", r.Shown, r.Account.Budget, r.When)
}

// Raise is what an owner is asked for: as many fifths of the limit as the call needs. The exact amount would tell everybody who may
// read the question what others have used. False: nobody is asked, because the budget says so, the model has no price, or the call
// lacks more than the whole limit.
func (r *Reached) Raise() (Raise, bool) {
	const parts = 5
	if r.Budget.AtLimit != RuleAsk || r.Unpriced || r.Short > r.Budget.Limit {
		return Raise{}, false
	}
	step := int64(One) / 100
	if r.Budget.Unit == Tokens {
		step = 1
	}
	part := max(roundUp(r.Budget.Limit, parts)/parts, 1)
	part = roundUp(part, step)
	extra := max(roundUp(r.Short, part), part)
	return Raise{Account: r.Account, Extra: extra, Shown: r.Budget.Show(extra), When: r.Budget.When()}, true
}

// roundUp is the smallest multiple of a step that is not below a number.
func roundUp(n, step int64) int64 { return (n + step - 1) / step * step }
