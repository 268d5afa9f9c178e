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

// Raise is what an owner is asked for: a fifth of the limit, or more if the call needs it. False: nobody is asked, because the
// budget says so, the model has no price, or the call alone needs more than the whole limit again.
func (r *Reached) Raise() (Raise, bool) {
	const part = 5
	extra := max(r.Budget.Limit/part, r.Short)
	if r.Budget.AtLimit != RuleAsk || r.Unpriced || extra > r.Budget.Limit {
		return Raise{}, false
	}
	step := int64(One) / 100
	if r.Budget.Unit == Tokens {
		step = 1
	}
	extra = (extra + step - 1) / step * step
	return Raise{Account: r.Account, Extra: extra, Shown: r.Budget.Show(extra), When: r.Budget.When()}, true
}
