// Package meter counts what calls of models cost, and keeps budgets.
//
// A [Meter] decorates models. Before a call that touches a budget it reserves the most that the call may cost; a call that
// does not fit is refused and nothing is sent. After the call it posts the call's row with the real cost, or leaves that to
// the caller who stores the answer ([sessions.Request].Kept), so that the row needs no transaction of its own. Without budgets,
// a call costs its row and nothing else.
//
// # Failure rules
//
// If a reservation can't be stored, the call is not made. If the end of a call can't be stored, its reservation stays until
// [Meter.Sweep] posts it as spent: it may have cost that much. The same happens to the calls of a process that has died.
//
// A Meter has no goroutines.
package meter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/sessions"
)

const (
	// settleTimeout bounds the storing of a call that has ended.
	settleTimeout = 10 * time.Second
	// outputDefault bounds answers under a budget where neither the agent nor the session does.
	outputDefault = 8192
	// sweepMax is how many lost calls one sweep reads.
	sweepMax = 500
)

// Ledger stores postings.
type Ledger interface {
	// Post stores a posting. ErrConflict means that it does not fit into one of its accounts, or that its reservation has ended.
	Post(ctx context.Context, p spending.Posting) error
	// States reads accounts. Those that nothing was posted to are left out.
	States(ctx context.Context, accounts []spending.Account) (map[string]spending.State, error)
	// Lost reads reservations whose owner has changed, and those made before a time, the oldest first.
	Lost(ctx context.Context, before time.Time, limit int) ([]spending.Posting, error)
}

// Settings are what a Meter counts with. They are never changed, only replaced.
type Settings struct {
	Prices  spending.Prices
	Budgets []*spending.Budget
}

// Meter counts calls. It is safe for concurrent use. All fields are required.
type Meter struct {
	Ledger Ledger
	Now    func() time.Time
	Log    *slog.Logger

	settings atomic.Pointer[Settings]
}

// Configure replaces the settings. Calls in progress end with those that they began with.
func (m *Meter) Configure(s *Settings) { m.settings.Store(s) }

// Settings are the current ones.
func (m *Meter) Settings() *Settings {
	if s := m.settings.Load(); s != nil {
		return s
	}
	return &Settings{}
}

// Wrap decorates a model that is asked with a key of a provider. The model is the provider's name for it.
func (m *Meter) Wrap(provider, key, model string, asks sessions.Model) sessions.Model {
	return &metered{Model: asks, meter: m, provider: provider, key: key, model: model}
}

// metered is a model whose calls are counted.
type metered struct {
	sessions.Model
	meter                *Meter
	provider, key, model string
}

var (
	_ sessions.Model      = (*metered)(nil)
	_ sessions.Classified = (*metered)(nil)
	_ sessions.Tempered   = (*metered)(nil)
)

// Classification implements [sessions.Classified].
func (m *metered) Classification() flow.Level { return sessions.ModelLevel(m.Model) }

// MaxTemperature implements [sessions.Tempered].
func (m *metered) MaxTemperature() float32 { return sessions.MaxTemperature(m.Model) }

// Complete implements [sessions.Model]. The error is a *[spending.Reached] if the call does not fit into a budget.
func (m *metered) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (completion sessions.Completion, err error) {
	c, err := m.reserved(ctx, &req)
	if err != nil {
		return completion, err
	}
	// Thousands of goroutines wait here for their models at once, so what comes before and after has frames of its own.
	completion, err = m.Model.Complete(ctx, req, c.hear(on))
	c.settle(ctx, &req, &completion, err)
	return completion, err
}

// reserved begins a call and reserves what it may cost.
func (m *metered) reserved(ctx context.Context, req *sessions.Request) (*counted, error) {
	c := m.begin(ctx)
	if req.Label.Valid() {
		c.call.Level = req.Label.Level()
	}
	return c, c.reserve(ctx, req)
}

// hear remembers that something of the answer has come.
func (c *counted) hear(on func(sessions.Chunk)) func(sessions.Chunk) {
	return func(chunk sessions.Chunk) {
		c.heard = true
		on(chunk)
	}
}

// settle posts the row of a call that has ended, or leaves that to the caller.
func (c *counted) settle(ctx context.Context, req *sessions.Request, completion *sessions.Completion, err error) {
	c.call.Latency = c.meter.Now().Sub(c.call.Started)
	switch {
	case err != nil:
		c.failed(req, err, c.heard)
		c.store(ctx)
	case req.Kept:
		c.ended(req, completion.Usage)
		posting := c.posting()
		completion.Posting = &posting
	default:
		c.ended(req, completion.Usage)
		c.store(ctx)
	}
}

// counted is one call.
type counted struct {
	meter    *Meter
	call     spending.Call
	price    *spending.Price // nil: unknown
	heard    bool            // something of the answer has come
	worst    spending.Amount // that was reserved
	reserved *spending.Posting
}

func (m *metered) begin(ctx context.Context) *counted {
	c := &counted{meter: m.meter, call: spending.Call{
		ID: callID(), Origin: spending.OriginOf(ctx), Provider: m.provider, Key: m.key, Model: m.model, Level: flow.Restricted, Started: m.meter.Now(),
	}}
	if price, known := m.meter.Settings().Prices.At(m.provider+"/"+m.model, c.call.Started); known {
		c.price = &price
	}
	return c
}

// callID is an id that grows with time, so that rows are added at the end of the index.
func callID() string {
	id, err := uuid.NewV7()
	if err != nil {
		id = uuid.New()
	}
	return "call_" + id.String()
}

// reserve reserves the most that the call may cost, if it touches budgets.
func (c *counted) reserve(ctx context.Context, req *sessions.Request) error {
	budgets := c.meter.Settings().Budgets
	if !c.touches(budgets) {
		return nil
	}
	if req.MaxTokens == 0 {
		req.MaxTokens = outputDefault
	}
	c.worst = Most(req)
	posting, err := spending.Plan(budgets, &c.call, c.price, c.worst)
	if err != nil {
		return err
	}
	for _, e := range posting.Entries {
		if e.Held > e.Most {
			return c.refuse(ctx, budgets, &posting)
		}
	}
	switch err := c.meter.Ledger.Post(ctx, posting); {
	case errors.Is(err, sessions.ErrConflict):
		return c.refuse(ctx, budgets, &posting)
	case err != nil:
		return fmt.Errorf("reserve for a call of %s/%s: %w", c.call.Provider, c.call.Model, err)
	}
	c.reserved = &posting
	return nil
}

func (c *counted) touches(budgets []*spending.Budget) bool {
	for _, b := range budgets {
		if _, applies := b.Subject(&c.call.Origin, c.call.Provider); applies {
			return true
		}
	}
	return false
}

// refuse says which budget has no room for the call.
func (c *counted) refuse(ctx context.Context, budgets []*spending.Budget, p *spending.Posting) error {
	accounts := make([]spending.Account, len(p.Entries))
	for i, e := range p.Entries {
		accounts[i] = e.Account
	}
	states, err := c.meter.Ledger.States(ctx, accounts)
	if err != nil {
		return fmt.Errorf("read budgets: %w", err)
	}
	return spending.Refusal(budgets, p, states)
}

// ended notes what the call has used.
func (c *counted) ended(req *sessions.Request, used sessions.Usage) {
	c.call.Outcome = spending.OutcomeOK
	c.call.Amount = spending.Amount{Usage: used}
	if used == (sessions.Usage{}) {
		c.assume(req)
		return
	}
	if c.price == nil {
		return
	}
	if c.price.Picture > 0 {
		c.call.Amount.Pictures = pictures(req)
	}
	c.call.Priced, c.call.Currency, c.call.Cost = true, c.price.Currency, c.price.Cost(c.call.Amount)
}

// assume notes the most that the call may have used, because the provider does not say.
func (c *counted) assume(req *sessions.Request) {
	if c.reserved == nil {
		if req.MaxTokens == 0 {
			req.MaxTokens = outputDefault
		}
		c.worst = Most(req)
	}
	c.call.Assumed, c.call.Amount = true, c.worst
	if c.price != nil {
		c.call.Priced, c.call.Currency, c.call.Cost = true, c.price.Currency, c.price.Worst(c.worst)
	}
}

// failed notes why the call has failed. One that the provider has not taken costs nothing; any other may have cost the most.
func (c *counted) failed(req *sessions.Request, err error, heard bool) {
	c.call.Outcome = "failed"
	if me, ok := errors.AsType[*sessions.ModelError](err); ok {
		c.call.Outcome = spending.Outcome(me.Kind)
	}
	if errors.Is(err, context.Canceled) {
		c.call.Outcome = "cancelled"
	}
	if !heard && free(err) {
		if c.price != nil {
			c.call.Priced, c.call.Currency = true, c.price.Currency
		}
		return
	}
	c.assume(req)
}

// free reports whether a provider that has sent no part of an answer charges nothing for the failure.
func free(err error) bool {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return true
	}
	me, ok := errors.AsType[*sessions.ModelError](err)
	if !ok {
		return false
	}
	switch me.Kind {
	case sessions.ModelRateLimited, sessions.ModelOverloaded, sessions.ModelOverflow, sessions.ModelAuth, sessions.ModelRefused:
		return true
	}
	return false
}

// posting is what the end of the call posts.
func (c *counted) posting() spending.Posting {
	if c.reserved == nil {
		return spending.Posting{Call: c.call}
	}
	return c.reserved.Settle(c.call)
}

// store stores the end of the call, also if its caller has gone.
func (c *counted) store(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := c.meter.Ledger.Post(ctx, c.posting()); err != nil && !errors.Is(err, sessions.ErrConflict) {
		c.meter.Log.Error("the row of a model's call is not stored", "call", c.call.ID, "model", c.call.Provider+"/"+c.call.Model, "run", string(c.call.Run), "err", err)
	}
}

// Sweep posts reservations as spent whose calls can't end any more: those of processes that have died, and those made before a
// time. It returns their number.
func (m *Meter) Sweep(ctx context.Context, before time.Time) (int, error) {
	lost, err := m.Ledger.Lost(ctx, before, sweepMax)
	if err != nil {
		return 0, fmt.Errorf("read lost reservations: %w", err)
	}
	n := 0
	for i := range lost {
		call := lost[i].Call
		call.Outcome, call.Assumed = spending.OutcomeLost, true
		switch err := m.Ledger.Post(ctx, lost[i].Settle(call)); {
		case errors.Is(err, sessions.ErrConflict): // somebody else was faster
		case err != nil:
			return n, fmt.Errorf("post lost reservation: %w", err)
		default:
			n++
		}
	}
	return n, nil
}
