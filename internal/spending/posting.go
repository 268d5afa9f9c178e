package spending

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Account is a budget of one subject in one period.
type Account struct {
	ID      string
	Budget  string
	Subject string
	Start   time.Time
	End     time.Time
}

// State is what an account holds and has spent. Extra is what an owner has added to its limit.
type State struct{ Held, Spent, Extra int64 }

// Used is what is spent or may be spent by calls that have not ended.
func (s State) Used() int64 { return s.Held + s.Spent }

// Entry changes one account of a budget.
type Entry struct {
	Account
	Unit        string // of the budget
	Held, Spent int64
	Max         int64 // held and spent may not exceed it afterwards, plus what an owner has added
}

// Posting changes the accounts of a call and of the budgets that it touches: all of them, or none.
type Posting struct {
	Call    Call
	Open    int     // 1 makes the call's reservation, -1 ends it, 0: the call had none
	Entries []Entry // by account; at most [EntriesMax]
	// Until is when a reservation counts as lost unless it is renewed.
	Until time.Time
}

// EntriesMax is the number of budgets that one call may touch.
const EntriesMax = 8

// Plan is the reservation of a call that is about to be made: for each budget that it touches the most that it may cost.
// The error is a *[Reached] if a budget can't count the call. Without budgets the posting has no entries, and makes no reservation.
func (p *Posting) Plan(budgets []*Budget, price *Price, worst Amount) error {
	call := &p.Call
	call.Outcome, call.Assumed, call.Amount = OutcomeOpen, true, worst
	price = price.Known(worst)
	if price != nil {
		call.Priced, call.Currency, call.Cost = true, price.Currency, price.Worst(worst)
	}
	for _, b := range budgets {
		subject, applies := b.Subject(&call.Origin, call.Provider)
		if !applies {
			continue
		}
		e := Entry{Account: b.Account(subject, call.Started), Unit: b.Unit, Max: b.most(call.Unattended)}
		switch {
		case b.Unit == Tokens && worst.Audio > 0:
			continue // a recording has no tokens
		case b.Unit == Tokens:
			e.Held = int64(worst.InputTokens) + int64(worst.OutputTokens)
		case price == nil || price.Currency != b.Unit:
			return &Reached{Budget: b, Account: e.Account, Unpriced: true, Model: call.Provider + "/" + call.Model, Minute: worst.Audio > 0}
		default:
			e.Held = int64(call.Cost)
		}
		p.Entries = append(p.Entries, e)
	}
	slices.SortFunc(p.Entries, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
	p.Open = min(len(p.Entries), 1)
	return nil
}

// Settle turns the reservation of a call that has ended into its end: what was held is given back, and what the call has used
// is spent. The most that it may have cost counts where the provider has not said (Assumed).
func (p *Posting) Settle() {
	for i := range p.Entries {
		e := &p.Entries[i]
		e.Held, e.Spent, e.Max = -e.Held, e.real(&p.Call), math.MaxInt64
	}
	p.Open = -p.Open
}

// real is what a call has cost a budget that has reserved for it.
func (e *Entry) real(call *Call) int64 {
	switch {
	case call.Assumed:
		return e.Held
	case e.Unit == Tokens:
		return int64(call.Amount.InputTokens) + int64(call.Amount.OutputTokens)
	}
	return int64(call.Cost)
}

// Standing is an account with its state.
type Standing struct {
	Account
	State
}

// Refusal says which of a posting's budgets has the least room for it, given the states of its accounts.
func Refusal(budgets []*Budget, p *Posting, states map[string]State) *Reached {
	var tightest *Reached
	room := int64(math.MaxInt64)
	for _, e := range p.Entries {
		i := slices.IndexFunc(budgets, func(b *Budget) bool { return b.Name == e.Budget })
		if i < 0 {
			continue
		}
		state := states[e.ID]
		if left := e.Max + state.Extra - state.Used() - e.Held; left < room || tightest == nil {
			room = left
			tightest = &Reached{Budget: budgets[i], Account: e.Account, State: state, Need: e.Held, Short: -left, Unattended: p.Call.Unattended && e.Max < budgets[i].Limit}
		}
	}
	return tightest
}
