package meter_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/internal/spending"
	"sluice/sessions"
)

// book is a ledger in memory, with the rules of the store.
type book struct {
	mu       sync.Mutex
	states   map[string]spending.State
	open     map[string]spending.Posting // reservations, by call
	rows     []spending.Call             // calls that have ended
	posts    int
	renewals int
	fault    error  // of the next postings
	missed   func() // called after a posting did not fit
}

func newBook() *book {
	return &book{states: map[string]spending.State{}, open: map[string]spending.Posting{}}
}

func (b *book) Post(ctx context.Context, p *spending.Posting) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.posts++
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.fault != nil {
		return b.fault
	}
	id := p.Call.ID
	if _, open := b.open[id]; open != (p.Open < 0) {
		return sessions.ErrConflict
	}
	for _, e := range p.Entries {
		if state, ok := b.states[e.ID]; ok && state.Used()+e.Held+e.Spent-state.Extra > e.Max {
			if b.missed != nil {
				b.missed()
			}
			return sessions.ErrConflict
		}
	}
	for _, e := range p.Entries {
		state := b.states[e.ID]
		state.Held, state.Spent = state.Held+e.Held, state.Spent+e.Spent
		b.states[e.ID] = state
	}
	if p.Open > 0 {
		b.open[id] = spending.Posting{Call: p.Call, Open: 1, Entries: slices.Clone(p.Entries), Until: p.Until}
		return nil
	}
	delete(b.open, id)
	b.rows = append(b.rows, p.Call)
	return nil
}

func (b *book) States(_ context.Context, accounts []spending.Account) (map[string]spending.State, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := map[string]spending.State{}
	for _, a := range accounts {
		if state, ok := b.states[a.ID]; ok {
			found[a.ID] = state
		}
	}
	return found, nil
}

func (b *book) Renew(_ context.Context, calls []string, until time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fault != nil {
		return b.fault
	}
	b.renewals++
	for _, id := range calls {
		if p, ok := b.open[id]; ok {
			p.Until = until
			b.open[id] = p
		}
	}
	return nil
}

// Lost finds reservations with an epoch other than 1, the current one, and those that were not renewed in time.
func (b *book) Lost(_ context.Context, now time.Time, limit int) (lost []*spending.Posting, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.open {
		if p.Call.Epoch > 1 || p.Until.Before(now) {
			p.Entries, p.Call.Assumed = slices.Clone(p.Entries), false // a reservation does not say it
			lost = append(lost, &p)
		}
	}
	slices.SortFunc(lost, func(x, y *spending.Posting) int { return strings.Compare(x.Call.ID, y.Call.ID) })
	return lost[:min(len(lost), limit)], nil
}

// of is the state of a budget's account.
func (b *book) of(budget string) (state spending.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, s := range b.states {
		if strings.HasPrefix(id, "budget/"+budget+"/") {
			state.Held, state.Spent = state.Held+s.Held, state.Spent+s.Spent
		}
	}
	return state
}
