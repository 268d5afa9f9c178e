// Package meter counts what model calls cost, and enforces budgets.
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
// [Meter.Hear] does the same for calls of speech servers, which cost money by the minute. They count towards no budget in tokens.
//
// A Meter has no goroutines.
package meter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"sluice/internal/model/chain"
	"sluice/internal/spending"
	"sluice/internal/spending/pricelist"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/port"
)

const (
	// settleTimeout bounds the storing of a call that has ended.
	settleTimeout = 10 * time.Second
	// outputDefault bounds answers under a budget where neither the agent nor the session does.
	outputDefault = 8192
	// reserveTries is how often a reservation is tried for which there is room whenever that is read.
	reserveTries = 5
	// sweepMax is how many lost calls one sweep reads.
	sweepMax = 500
	// lease is how long a reservation lasts unless it is renewed. [Meter.Sweep] renews it when half of it is over.
	lease = time.Hour
)

// Ledger stores postings.
type Ledger interface {
	// Post stores a posting. ErrConflict means that it does not fit into one of its accounts, or that its reservation has ended.
	Post(ctx context.Context, p *spending.Posting) error
	// States reads accounts. Those that nothing was posted to are left out.
	States(ctx context.Context, accounts []spending.Account) (map[string]spending.State, error)
	// Renew keeps reservations from counting as lost until a time.
	Renew(ctx context.Context, calls []string, until time.Time) error
	// Lost reads reservations whose owner has changed or that were not renewed in time, the oldest first.
	Lost(ctx context.Context, now time.Time, limit int) ([]*spending.Posting, error)
}

// Settings are what a Meter counts with. They are never changed, only replaced.
type Settings struct {
	Prices  *pricelist.List
	Budgets []*spending.Budget
}

// Meter counts calls. It is safe for concurrent use. All fields are required.
type Meter struct {
	Ledger Ledger
	Now    func() time.Time
	Log    *slog.Logger

	settings atomic.Pointer[Settings]
	mu       sync.Mutex
	open     map[string]time.Time // calls in progress that have a reservation, and how long it lasts
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

// Complete implements [sessions.Model]. The error is a *[chain.Refused] with a *[spending.Reached] if the call does not fit into
// a budget. Thousands of goroutines wait in it, so it must use little stack.
func (m *metered) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (completion sessions.Completion, err error) {
	c, err := m.begin(ctx, &req, on)
	if err == nil {
		defer c.left()
		completion, err = m.Model.Complete(ctx, req, c.on)
		c.end(&completion, err)
	}
	return completion, err
}

// counted is one call.
type counted struct {
	ctx     context.Context //nolint:containedctx // lives as long as the call, which has little stack
	meter   *Meter
	posting spending.Posting
	price   *spending.Price // nil: unknown
	req     sessions.Request
	audio   time.Duration        // the most that a recording can last; 0: it is a call with tokens
	on      func(sessions.Chunk) // gets the parts of the answer
	heard   bool
	ended   bool
}

// begin reserves what the call may cost. It may limit the answer.
//
//go:noinline
func (m *metered) begin(ctx context.Context, req *sessions.Request, on func(sessions.Chunk)) (*counted, error) {
	c := &counted{ctx: ctx, meter: m.meter, req: *req, posting: spending.Posting{Call: spending.Call{
		ID: callID(), Origin: spending.OriginOf(ctx), Provider: m.provider, Key: m.key, Model: m.model, Level: flow.Restricted, Started: m.meter.Now(),
	}}}
	c.on = func(chunk sessions.Chunk) {
		c.heard = true
		on(chunk)
	}
	if req.Label.Valid() {
		c.posting.Call.Level = req.Label.Level()
	}
	c.find()
	err := c.reserve(ctx)
	req.MaxTokens = c.req.MaxTokens
	return c, err
}

// find finds the price of the call.
func (c *counted) find() {
	if prices := c.meter.Settings().Prices; prices != nil {
		call := &c.posting.Call
		found, _ := prices.At(call.Provider, call.Model, call.Started)
		c.price = found.Known(spending.Amount{Audio: c.audio})
	}
}

// left ends a call whose client has panicked.
func (c *counted) left() {
	if !c.ended {
		c.end(nil, errors.New("the client of the model has panicked"))
	}
}

// end notes the end of the call; without a completion, it has panicked. It stores it, unless the caller does.
//
//go:noinline
func (c *counted) end(completion *sessions.Completion, err error) {
	if completion == nil {
		completion = &sessions.Completion{}
	}
	c.note(spending.Amount{Usage: completion.Usage}, err)
	if err == nil && c.req.Kept {
		completion.Posting = &c.posting
		return
	}
	c.store(c.ctx)
}

// note notes how the call has ended, and what it has used if it has not failed.
func (c *counted) note(used spending.Amount, err error) {
	c.ended = true
	if c.posting.Open > 0 {
		c.meter.mu.Lock()
		delete(c.meter.open, c.posting.Call.ID)
		c.meter.mu.Unlock()
	}
	call := &c.posting.Call
	call.Latency = c.meter.Now().Sub(call.Started)
	if err != nil {
		c.failed(err)
	} else {
		c.succeeded(used)
	}
	c.posting.Settle()
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
//
//go:noinline
func (c *counted) reserve(ctx context.Context) error {
	budgets := c.meter.Settings().Budgets
	if !c.touches(budgets) {
		return nil
	}
	if err := c.posting.Plan(budgets, c.price, c.worst()); err != nil {
		return refused(err)
	}
	if c.posting.Open == 0 {
		return nil
	}
	for _, e := range c.posting.Entries {
		if e.Held <= e.Max {
			continue
		}
		reached, err := c.reached(ctx, budgets)
		if err != nil {
			return err
		}
		if reached.Short > 0 {
			return refused(reached)
		}
		break // an owner has raised the limit
	}
	c.posting.Until = c.posting.Call.Started.Add(lease)
	for try := 1; ; try++ {
		err := c.meter.Ledger.Post(ctx, &c.posting)
		if err == nil {
			c.meter.opened(&c.posting)
			return nil
		}
		if !errors.Is(err, sessions.ErrConflict) {
			return fmt.Errorf("reserve for a call of %s/%s: %w", c.posting.Call.Provider, c.posting.Call.Model, err)
		}
		reached, err := c.reached(ctx, budgets)
		if err != nil {
			return err
		}
		if reached.Short > 0 || try == reserveTries {
			return refused(reached)
		}
		// Another call has given back since: there is room by now.
	}
}

// opened notes a reservation, to renew it.
func (m *Meter) opened(p *spending.Posting) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == nil {
		m.open = map[string]time.Time{}
	}
	m.open[p.Call.ID] = p.Until
}

// renew renews the reservations of calls that take long, so that no process settles them as lost. Otherwise the answer could not
// be stored, and the step would be repeated and paid twice.
func (m *Meter) renew(ctx context.Context, now time.Time) error {
	var long []string
	m.mu.Lock()
	for id, until := range m.open {
		if until.Sub(now) < lease/2 {
			long = append(long, id)
		}
	}
	m.mu.Unlock()
	if len(long) == 0 {
		return nil
	}
	slices.Sort(long)
	if err := m.Ledger.Renew(ctx, long, now.Add(lease)); err != nil {
		return fmt.Errorf("renew reservations: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range long {
		if until, still := m.open[id]; still && until.Before(now.Add(lease)) {
			m.open[id] = now.Add(lease)
		}
	}
	return nil
}

// refused is the error of a call that was not made.
func refused(err error) error {
	r, ok := errors.AsType[*spending.Reached](err)
	return &chain.Refused{Cheaper: ok && r.Budget.AtLimit == spending.RuleCheaper, Err: err}
}

// worst is the most that the call can use. It limits an answer that has no limit.
func (c *counted) worst() spending.Amount {
	if c.audio > 0 {
		return spending.Amount{Audio: c.audio}
	}
	if c.req.MaxTokens == 0 {
		c.req.MaxTokens = outputDefault
	}
	return WorstCase(&c.req)
}

func (c *counted) touches(budgets []*spending.Budget) bool {
	for _, b := range budgets {
		if _, applies := b.Subject(&c.posting.Call.Origin, c.posting.Call.Provider); applies {
			return true
		}
	}
	return false
}

// reached says which budget has the least room for the call.
func (c *counted) reached(ctx context.Context, budgets []*spending.Budget) (*spending.Reached, error) {
	accounts := make([]spending.Account, len(c.posting.Entries))
	for i, e := range c.posting.Entries {
		accounts[i] = e.Account
	}
	states, err := c.meter.Ledger.States(ctx, accounts)
	if err != nil {
		return nil, fmt.Errorf("read budgets: %w", err)
	}
	return spending.Refusal(budgets, &c.posting, states), nil
}

// succeeded notes what the call has used.
func (c *counted) succeeded(used spending.Amount) {
	call := &c.posting.Call
	call.Outcome = spending.OutcomeOK
	if used == (spending.Amount{}) {
		c.assume()
		return
	}
	call.Assumed, call.Amount = false, used
	if c.price == nil {
		return
	}
	if c.price.Picture > 0 {
		call.Amount.Pictures = pictures(&c.req)
	}
	c.cost(c.price.Cost(call.Amount))
}

func (c *counted) cost(m spending.Money) {
	if c.price != nil {
		c.posting.Call.Priced, c.posting.Call.Currency, c.posting.Call.Cost = true, c.price.Currency, m
	}
}

// assume notes the most that the call may have used, because the provider does not say.
func (c *counted) assume() {
	call := &c.posting.Call
	if call.Assumed {
		return // it was reserved
	}
	call.Assumed, call.Amount = true, c.worst()
	if c.price != nil {
		c.cost(c.price.Worst(call.Amount))
	}
}

// failed notes why the call has failed. One that the provider has not taken costs nothing; any other may have cost the most.
func (c *counted) failed(err error) {
	call := &c.posting.Call
	call.Outcome = "failed"
	if me, ok := errors.AsType[*sessions.ModelError](err); ok {
		call.Outcome = spending.Outcome(me.Kind)
	}
	if errors.Is(err, context.Canceled) {
		call.Outcome = "cancelled"
	}
	if c.heard || !free(err) {
		c.assume()
		return
	}
	call.Assumed, call.Amount = false, spending.Amount{}
	c.cost(0)
}

// free reports whether a provider that has sent no part of an answer charges nothing for the failure.
func free(err error) bool {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return true
	}
	me, ok := errors.AsType[*sessions.ModelError](err)
	if !ok || errors.Is(err, port.ErrDeclined) {
		return false
	}
	switch me.Kind {
	case port.ModelLoading, sessions.ModelRateLimited, sessions.ModelOverloaded, sessions.ModelOverflow, sessions.ModelAuth, sessions.ModelRefused:
		return true
	}
	return false
}

// store stores the end of the call, also if its caller has gone.
func (c *counted) store(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := c.meter.Ledger.Post(ctx, &c.posting); err != nil && !errors.Is(err, sessions.ErrConflict) {
		c.meter.Log.Error("the row of a model's call is not stored", "call", c.posting.Call.ID, "model", c.posting.Call.Provider+"/"+c.posting.Call.Model, "run", string(c.posting.Call.Run), "err", err)
	}
}

// Sweep renews the reservations of this process, and posts those as spent whose calls can no longer end because their
// processes have died. It returns their number. Call it about every minute.
func (m *Meter) Sweep(ctx context.Context) (int, error) {
	now := m.Now()
	if err := m.renew(ctx, now); err != nil {
		return 0, err
	}
	lost, err := m.Ledger.Lost(ctx, now, sweepMax)
	if err != nil {
		return 0, fmt.Errorf("read lost reservations: %w", err)
	}
	n := 0
	for i := range lost {
		lost[i].Call.Outcome, lost[i].Call.Assumed = spending.OutcomeLost, true
		lost[i].Settle()
		switch err := m.Ledger.Post(ctx, lost[i]); {
		case errors.Is(err, sessions.ErrConflict): // somebody else was faster
		case err != nil:
			return n, fmt.Errorf("post lost reservation: %w", err)
		default:
			n++
		}
	}
	return n, nil
}
