package meter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/chain"
	"sluice/internal/model/meter"
	"sluice/internal/model/wire"
	"sluice/internal/spending"
	"sluice/internal/spending/pricelist"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/port"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// fake is a model. It answers what a test says.
type fake struct {
	sessions.Model
	asked  int
	got    sessions.Request
	says   string // before it ends
	used   sessions.Usage
	fails  error
	during func()
}

func (f *fake) Complete(_ context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	f.asked, f.got = f.asked+1, req
	if f.says != "" {
		on(sessions.Chunk{Type: sessions.PartText, Text: f.says})
	}
	if f.during != nil {
		f.during()
	}
	if f.fails != nil {
		return sessions.Completion{}, f.fails
	}
	return sessions.Completion{Usage: f.used}, nil
}

// desk is a meter with a ledger in memory and a model behind it.
type desk struct {
	*testing.T
	*meter.Meter
	book  *book
	fake  *fake
	model sessions.Model
	now   time.Time
	log   bytes.Buffer
}

// The model's price is 1 USD for a million tokens in, 2 for a million out: a token in costs 1000 billionths.
const tokenIn, tokenOut = 1000, 2000

func newDesk(t *testing.T, budgets ...*spending.Budget) *desk {
	t.Helper()
	d := &desk{T: t, book: newBook(), fake: &fake{used: sessions.Usage{InputTokens: 100, OutputTokens: 10}}, now: noon}
	d.Meter = &meter.Meter{Ledger: d.book, Now: func() time.Time { return d.now }, Log: slog.New(slog.NewTextHandler(&d.log, nil))}
	prices := spending.Prices{}
	prices.Add("test/large", spending.Flat(1_000_000, 2_000_000))
	d.Configure(&meter.Settings{Prices: &pricelist.List{Own: prices}, Budgets: budgets})
	d.model = d.Wrap("test", "key1", "large", d.fake)
	return d
}

func house(limit int64) *spending.Budget {
	return &spending.Budget{Name: "house", Scope: spending.ScopeGateway, Limit: limit, Unit: "USD", Per: spending.PerDay, AtLimit: spending.RuleStop}
}

func person(limit int64) *spending.Budget {
	return &spending.Budget{Name: "each", Scope: spending.ScopePerson, Limit: limit, Unit: spending.Tokens, Per: spending.PerDay, AtLimit: spending.RuleCheaper}
}

var ann = spending.Origin{Run: "run_1", Session: "ses_1", Agent: "main", Person: "telegram:5", Epoch: 1}

func request() sessions.Request {
	label := flow.NewLabel(flow.Internal, flow.Trusted)
	return sessions.Request{
		System: "You help.", MaxTokens: 1000, Label: label,
		Messages: []sessions.Message{{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart("hello", label)}}},
	}
}

// most is what the request may cost.
func most(req sessions.Request) int64 {
	a := meter.WorstCase(&req)
	return int64(a.InputTokens)*tokenIn + int64(a.OutputTokens)*tokenOut
}

func (d *desk) ask(req sessions.Request) (sessions.Completion, error) {
	return d.model.Complete(spending.With(d.Context(), ann), req, func(sessions.Chunk) {})
}

// row is the only row.
func (d *desk) row() spending.Call {
	d.Helper()
	require.Len(d, d.book.rows, 1)
	require.Empty(d, d.book.open, "no reservation stays")
	return d.book.rows[0]
}

func TestCallIsReservedAndSettled(t *testing.T) {
	t.Parallel()
	d := newDesk(t, house(1_000_000_000), person(100_000))
	req := request()
	d.fake.during = func() {
		require.Equal(t, spending.State{Held: most(req)}, d.book.of("house"), "the most that the call may cost is held while it lasts")
		a := meter.WorstCase(&req)
		require.Equal(t, spending.State{Held: int64(a.InputTokens + a.OutputTokens)}, d.book.of("each"), "in tokens")
		require.Len(t, d.book.open, 1)
		d.now = noon.Add(3 * time.Second)
	}
	_, err := d.ask(req)
	require.NoError(t, err)
	const cost = 100*tokenIn + 10*tokenOut
	require.Equal(t, spending.State{Spent: cost}, d.book.of("house"), "what was not used is given back")
	require.Equal(t, spending.State{Spent: 110}, d.book.of("each"))
	call := d.row()
	require.Contains(t, call.ID, "call_")
	call.ID = ""
	require.Equal(t, spending.Call{
		Origin: ann, Provider: "test", Key: "key1", Model: "large", Level: flow.Internal, Started: noon, Latency: 3 * time.Second, Outcome: spending.OutcomeOK,
		Amount: spending.Amount{Usage: d.fake.used}, Cost: cost, Currency: "USD", Priced: true,
	}, call)
	require.Equal(t, 2, d.book.posts)
}

// Without budgets a call is not reserved; its row is stored with the answer if the caller does that.
func TestCallWithoutBudget(t *testing.T) {
	t.Parallel()
	d := newDesk(t, person(1))
	req := request()
	req.MaxTokens = 0
	for kept, posts := range map[bool]int{false: 1, true: 0} {
		d.book.posts, req.Kept = 0, kept
		completion, err := d.model.Complete(t.Context(), req, func(sessions.Chunk) {}) // the gateway itself asks: no person
		require.NoError(t, err)
		require.Equal(t, posts, d.book.posts)
		require.Equal(t, kept, completion.Posting != nil)
		require.Zero(t, d.fake.got.MaxTokens, "the answer is not limited")
	}
	call := d.row()
	require.EqualValues(t, 100*tokenIn+10*tokenOut, call.Cost)
	require.Equal(t, spending.Origin{}, call.Origin)
	require.Equal(t, flow.Internal, call.Level)
	req.Label, req.Kept = flow.Label{}, false
	_, err := d.model.Complete(t.Context(), req, func(sessions.Chunk) {})
	require.NoError(t, err)
	require.Equal(t, flow.Restricted, d.book.rows[1].Level, "a lost label is the highest")
}

// A caller who stores the answer gets what settles the reservation.
func TestKeptCallIsSettledByItsCaller(t *testing.T) {
	t.Parallel()
	d := newDesk(t, house(1_000_000_000))
	req := request()
	req.Kept = true
	completion, err := d.ask(req)
	require.NoError(t, err)
	require.Empty(t, d.book.rows)
	require.Equal(t, spending.State{Held: most(req)}, d.book.of("house"))
	require.NoError(t, d.book.Post(t.Context(), completion.Posting))
	require.Equal(t, spending.State{Spent: 100*tokenIn + 10*tokenOut}, d.book.of("house"))
	d.row()
}

// An answer without a limit gets one under a budget: otherwise there is no most that it may cost.
func TestBudgetLimitsTheAnswer(t *testing.T) {
	t.Parallel()
	d := newDesk(t, house(1_000_000_000))
	req := request()
	req.MaxTokens, req.Thinking = 0, sessions.ThinkingHigh
	_, err := d.ask(req)
	require.NoError(t, err)
	require.Equal(t, 8192, d.fake.got.MaxTokens)
	require.Equal(t, 8192+wire.ThinkingBudget(sessions.ThinkingHigh), meter.WorstCase(&d.fake.got).OutputTokens)
}

func TestCallThatDoesNotFitIsNotMade(t *testing.T) {
	t.Parallel()
	fits := most(request())
	unattended := house(fits + 10)
	unattended.Reserve = 11
	for name, c := range map[string]struct {
		budget     *spending.Budget
		earlier    int64 // is spent already
		unattended bool
		model      string
		cheaper    bool
		says       string
	}{
		"larger than the whole budget":    {budget: house(fits - 1), says: "has no room for this call, which may cost"},
		"larger than what is left":        {budget: house(fits + 10), earlier: 11, says: "has no room for this call, which may cost"},
		"the next model may be cheaper":   {budget: person(10), cheaper: true, says: "10 tokens today"},
		"the rest is for people":          {budget: unattended, unattended: true, says: "house"},
		"no price in a budget's currency": {budget: house(fits), model: "unknown", says: "model test/unknown has no price in USD; set models.prices"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, c.budget)
			origin, account := ann, c.budget.Account("", noon)
			origin.Unattended = c.unattended
			d.book.states[account.ID] = spending.State{Spent: c.earlier}
			model := d.model
			if c.model != "" {
				model = d.Wrap("test", "key1", c.model, d.fake)
			}
			_, err := model.Complete(spending.With(t.Context(), origin), request(), func(sessions.Chunk) {})
			refused, ok := errors.AsType[*chain.Refused](err)
			require.True(t, ok)
			require.Equal(t, c.cheaper, refused.Cheaper)
			reached, ok := errors.AsType[*spending.Reached](err)
			require.True(t, ok)
			require.Same(t, c.budget, reached.Budget)
			require.Equal(t, c.unattended, reached.Unattended)
			require.ErrorContains(t, err, c.says)
			require.Zero(t, d.fake.asked, "nothing is sent")
			require.Empty(t, d.book.rows)
			require.Empty(t, d.book.open)
			require.Equal(t, c.earlier, d.book.of(c.budget.Name).Used())
		})
	}
}

// A person may use what unattended work has to leave, down to the last part that has room for a call.
func TestCallThatFitsExactly(t *testing.T) {
	t.Parallel()
	budget := house(most(request()))
	budget.Reserve = budget.Limit
	d := newDesk(t, budget)
	_, err := d.ask(request())
	require.NoError(t, err)
}

// What an owner has added to a limit counts, also for a call that alone is larger than the limit.
func TestRaisedLimit(t *testing.T) {
	t.Parallel()
	budget := house(most(request()) * 9 / 10)
	budget.AtLimit = spending.RuleAsk
	d := newDesk(t, budget)
	_, err := d.ask(request())
	reached, ok := errors.AsType[*spending.Reached](err)
	require.True(t, ok)
	raise, ask := reached.Raise()
	require.True(t, ask)
	require.GreaterOrEqual(t, raise.Extra, reached.Short)
	account := raise.Account.ID
	d.book.states[account] = spending.State{Extra: reached.Short - 1}
	_, err = d.ask(request())
	require.Error(t, err)
	d.book.states[account] = spending.State{Extra: raise.Extra}
	_, err = d.ask(request())
	require.NoError(t, err)
	d.row()
}

func TestLedgerThatFailsAllowsNoCall(t *testing.T) {
	t.Parallel()
	d := newDesk(t, house(1_000_000_000))
	d.book.fault = errors.New("the database is away")
	_, err := d.ask(request())
	require.ErrorIs(t, err, d.book.fault)
	require.Zero(t, d.fake.asked)
}

// An unknown price is not a cost of zero.
func TestUnknownPrice(t *testing.T) {
	t.Parallel()
	d := newDesk(t, person(100_000))
	model := d.Wrap("test", "key1", "unknown", d.fake)
	_, err := model.Complete(spending.With(t.Context(), ann), request(), func(sessions.Chunk) {})
	require.NoError(t, err, "a budget in tokens needs no price")
	call := d.row()
	require.False(t, call.Priced)
	require.Empty(t, call.Currency)
	require.Zero(t, call.Cost)
	require.Equal(t, spending.State{Spent: 110}, d.book.of("each"))
}

// What a failed call costs: nothing if the provider has surely not taken it, otherwise the most that it may have cost.
func TestFailedCalls(t *testing.T) {
	t.Parallel()
	kind := func(k sessions.ModelErrorKind) error {
		return &sessions.ModelError{Kind: k, Model: "test/large", Err: errors.New("no")}
	}
	for _, c := range []struct {
		fails   error
		says    string
		outcome spending.Outcome
		free    bool
	}{
		{fails: kind(sessions.ModelRateLimited), free: true},
		{fails: kind(sessions.ModelOverloaded), free: true},
		{fails: kind(sessions.ModelOverflow), free: true},
		{fails: kind(sessions.ModelAuth), free: true},
		{fails: kind(sessions.ModelRefused), free: true},
		{fails: &sessions.ModelError{Kind: sessions.ModelRefused, Err: port.ErrDeclined}},
		{fails: kind(port.ModelLoading), free: true},
		{fails: kind(sessions.ModelUnavailable)},
		{fails: kind(sessions.ModelCut)},
		{fails: kind(sessions.ModelOverloaded), says: "Once upon"},
		{fails: &sessions.ModelError{Kind: sessions.ModelUnavailable, Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}, free: true},
		{fails: &sessions.ModelError{Kind: sessions.ModelUnavailable, Err: &net.OpError{Op: "read", Err: errors.New("reset")}}},
		{fails: context.Canceled, outcome: "cancelled"},
		{fails: context.DeadlineExceeded, outcome: "failed"},
		{fails: errors.New("strange"), outcome: "failed"},
	} {
		t.Run(fmt.Sprintf("%v %s", c.fails, c.says), func(t *testing.T) {
			t.Parallel()
			for _, budgets := range [][]*spending.Budget{nil, {house(1_000_000_000)}} {
				d := newDesk(t, budgets...)
				d.fake.fails, d.fake.says = c.fails, c.says
				req := request()
				req.Kept = true
				_, err := d.ask(req)
				require.Equal(t, c.fails, err)
				call := d.row()
				if c.outcome == "" {
					me, _ := errors.AsType[*sessions.ModelError](c.fails)
					c.outcome = spending.Outcome(me.Kind)
				}
				require.Equal(t, c.outcome, call.Outcome)
				require.Equal(t, !c.free, call.Assumed)
				want := most(req)
				if c.free {
					want = 0
				}
				require.EqualValues(t, want, call.Cost)
				if len(budgets) > 0 {
					require.Equal(t, spending.State{Spent: want}, d.book.of("house"))
				}
			}
		})
	}
}

// A provider that does not say what a call has used may have used the most.
func TestUnreportedUseCountsInFull(t *testing.T) {
	t.Parallel()
	for _, budgets := range [][]*spending.Budget{nil, {house(1_000_000_000)}} {
		d := newDesk(t, budgets...)
		d.fake.used = sessions.Usage{}
		req := request()
		if budgets == nil {
			req.MaxTokens = 0
		}
		_, err := d.ask(req)
		require.NoError(t, err)
		if budgets == nil {
			req.MaxTokens = 8192
		}
		call := d.row()
		require.True(t, call.Assumed)
		require.EqualValues(t, most(req), call.Cost)
	}
}

// A call whose caller has gone is stored all the same.
func TestCallerGoesAway(t *testing.T) {
	t.Parallel()
	d := newDesk(t, house(1_000_000_000))
	ctx, cancel := context.WithCancel(spending.With(t.Context(), ann))
	d.fake.during, d.fake.fails = cancel, context.Canceled
	_, err := d.model.Complete(ctx, request(), func(sessions.Chunk) {})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, spending.State{Spent: most(request())}, d.book.of("house"))
	d.row()
}

// If the end of a call can't be stored, it is settled later as what it may have cost, and only once.
func TestSweep(t *testing.T) {
	t.Parallel()
	d := newDesk(t, house(1_000_000_000))
	d.fake.during = func() { d.book.fault = errors.New("the database is away") }
	_, err := d.ask(request())
	require.NoError(t, err, "the answer is there")
	require.Contains(t, d.log.String(), "the row of a model's call is not stored")
	d.book.fault = nil
	sweep := func(want int, after time.Duration) {
		t.Helper()
		d.now = noon.Add(after)
		n, err := d.Sweep(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	sweep(0, time.Hour)
	require.Equal(t, spending.State{Held: most(request())}, d.book.of("house"), "the reservation stays")
	sweep(1, time.Hour+time.Second)
	sweep(0, time.Hour+time.Second)
	call := d.row()
	require.Equal(t, spending.OutcomeLost, call.Outcome)
	require.True(t, call.Assumed)
	require.Equal(t, spending.State{Spent: most(request())}, d.book.of("house"))
	require.EqualValues(t, most(request()), call.Cost)
}

// A call that takes long keeps its reservation, however long: it is renewed, and no other process settles it.
func TestLongCallIsNotLost(t *testing.T) {
	t.Parallel()
	d := newDesk(t, house(1_000_000_000))
	other := &meter.Meter{Ledger: d.book, Now: func() time.Time { return d.now }, Log: d.Log}
	d.fake.during = func() {
		for range 60 {
			d.now = d.now.Add(10 * time.Minute)
			for _, m := range []*meter.Meter{d.Meter, other} {
				n, err := m.Sweep(t.Context())
				require.NoError(t, err)
				require.Zero(t, n)
			}
		}
		require.Equal(t, 15, d.book.renewals, "not with each sweep")
		d.book.fault, d.now = errors.New("the database is away"), d.now.Add(40*time.Minute)
		_, err := d.Sweep(t.Context())
		require.ErrorIs(t, err, d.book.fault)
		d.book.fault = nil
	}
	_, err := d.ask(request())
	require.NoError(t, err)
	require.Equal(t, spending.OutcomeOK, d.row().Outcome)
	renewals := d.book.renewals
	d.now = d.now.Add(10 * time.Hour)
	_, err = d.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, renewals, d.book.renewals, "it has ended")
}

// A client that panics leaves no reservation behind.
func TestClientPanics(t *testing.T) {
	t.Parallel()
	d := newDesk(t, house(1_000_000_000))
	d.fake.during = func() { panic("broken") }
	require.Panics(t, func() { _, _ = d.ask(request()) })
	require.Equal(t, spending.Outcome("failed"), d.row().Outcome)
	require.Equal(t, spending.State{Spent: most(request())}, d.book.of("house"))
}

// A call that ends while another process sweeps it is counted once.
func TestSweepWhileACallEnds(t *testing.T) {
	t.Parallel()
	d := newDesk(t, house(1_000_000_000))
	d.fake.during = func() {
		d.now = noon.Add(2 * time.Hour)
		other := &meter.Meter{Ledger: d.book, Now: func() time.Time { return d.now }, Log: d.Log}
		n, err := other.Sweep(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	_, err := d.ask(request())
	require.NoError(t, err)
	require.Equal(t, spending.State{Spent: most(request())}, d.book.of("house"))
	require.Equal(t, spending.OutcomeLost, d.row().Outcome)
	require.Empty(t, d.log.String(), "that is no error")
}

func TestSweepFails(t *testing.T) {
	t.Parallel()
	d := newDesk(t, house(1_000_000_000))
	d.fake.during = func() { d.book.fault = errors.New("the database is away") }
	_, err := d.ask(request())
	require.NoError(t, err)
	d.now = noon.Add(2 * time.Hour)
	_, err = d.Sweep(t.Context())
	require.ErrorIs(t, err, d.book.fault)
	require.Equal(t, spending.State{Held: most(request())}, d.book.of("house"))
}

// Pictures count with what the dearest models take for one, and with their own price.
func TestPicturesCount(t *testing.T) {
	t.Parallel()
	d := newDesk(t, house(1_000_000_000))
	prices, price := spending.Prices{}, spending.Flat(1_000_000, 2_000_000)
	price.Picture = 500
	prices.Add("test/large", price)
	d.Configure(&meter.Settings{Prices: &pricelist.List{Own: prices}, Budgets: []*spending.Budget{house(1_000_000_000)}})
	req := request()
	plain := meter.WorstCase(&req).InputTokens
	req.Messages[0].Parts = append(req.Messages[0].Parts, sessions.Part{Type: sessions.PartAttachment, Content: []byte("png"), Attachment: &sessions.Attachment{MIME: "image/png"}})
	require.Greater(t, meter.WorstCase(&req).InputTokens, plain+50_000)
	_, err := d.ask(req)
	require.NoError(t, err)
	call := d.row()
	require.Equal(t, 1, call.Amount.Pictures)
	require.EqualValues(t, 100*tokenIn+10*tokenOut+500*1000, call.Cost)
}

// Another call gives back between a reservation that does not fit and the look at what is left: there is room, so the call is made.
func TestRoomThatComesLateIsUsed(t *testing.T) {
	t.Parallel()
	budget := house(most(request()) + 10)
	d := newDesk(t, budget)
	account := budget.Account("", noon)
	d.book.states[account.ID] = spending.State{Held: 11}
	missed := 0
	d.book.missed = func() {
		missed++
		d.book.states[account.ID] = spending.State{}
	}
	_, err := d.ask(request())
	require.NoError(t, err)
	require.Equal(t, 1, missed)

	d = newDesk(t, budget) // and if it is gone again each time, the call is refused in the end
	d.book.missed = func() { missed++ }
	d.book.states[account.ID] = spending.State{Held: 11}
	_, err = d.ask(request())
	_, refused := errors.AsType[*spending.Reached](err)
	require.True(t, refused)
	require.Equal(t, 2, missed)
}
