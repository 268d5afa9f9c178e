package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/meter"
	"sluice/internal/spending"
	"sluice/internal/spending/pricelist"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/postgres"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
	"sluice/store/storetest"
)

// Three replicas with one store call models that fail, hang, break off, panic and report nothing, while replicas die in the
// middle of calls and the store's replies are lost. What the calls have really cost never exceeds a limit, no call of a living
// replica is lost, and no reservation stays.
func TestBudgetsAreNeverExceeded(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) [replicaCount]*store.DB{
		"SQLite": func(t *testing.T) (all [replicaCount]*store.DB) {
			db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t), Log: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			for i := range all {
				all[i] = db
			}
			return all
		},
		"PostgreSQL": func(t *testing.T) (all [replicaCount]*store.DB) {
			url := storetest.Postgres(t)
			for i := range all {
				db, err := postgres.Open(t.Context(), postgres.Config{URL: url, Log: slog.New(slog.DiscardHandler)})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, db.Close()) })
				all[i] = db
			}
			return all
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newSpenders(t, open(t))
			h.run()
			h.settle()
			t.Logf("seed %d: %s", *seed, h)
		})
	}
}

const (
	replicaCount = 3
	workers      = 4 // of each replica
	// stride is how much of the time passes at once. A day has many calls, and each limit is reached every day.
	stride = 10 * time.Minute
)

// spenders are replicas that call models.
type spenders struct {
	t       *testing.T
	stores  [replicaCount]*store.DB
	budgets []*spending.Budget
	prices  *pricelist.List
	now     atomic.Int64 // in microseconds
	calls   atomic.Int64 // still to be made

	living [replicaCount]atomic.Pointer[life]
	hour   sync.RWMutex // held while time passes, and read by calls except while they wait for their model

	mu     sync.Mutex
	real   map[string]int64             // what calls have really cost, by account
	limits map[string]int64             // by account
	of     map[sessions.RunID][]account // of calls in progress, which have a reservation
	counts map[string]int
}

// account is one that a call has reserved in.
type account struct {
	spending.Account
	unit string
}

func newSpenders(t *testing.T, stores [replicaCount]*store.DB) *spenders {
	t.Helper()
	h := &spenders{t: t, stores: stores, real: map[string]int64{}, limits: map[string]int64{}, of: map[sessions.RunID][]account{}, counts: map[string]int{}}
	h.now.Store(time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC).UnixMicro())
	h.calls.Store(900)
	scale := int64(1) // of the limits, so that they are reached and most calls fit
	if *long {
		h.calls.Store(100_000)
		scale = 2
	}
	prices := spending.Prices{}
	prices.Add("p/m", spending.Flat(1_000_000, 4_000_000))
	h.prices = &pricelist.List{Own: prices}
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	h.budgets = []*spending.Budget{
		{Name: "house", Scope: spending.ScopeGateway, Limit: 6 * scale * int64(spending.One), Reserve: scale * int64(spending.One), Unit: "USD", Per: spending.PerDay, Zone: zone},
		{Name: "each", Scope: spending.ScopePerson, Limit: 600_000 * scale, Unit: spending.Tokens, Per: spending.PerDay},
		{Name: "week", Scope: spending.ScopeAgent, Match: []string{"coder"}, Limit: 24 * scale * int64(spending.One), Unit: "USD", Per: spending.PerWeek},
		{Name: "all", Scope: spending.ScopeProvider, Limit: 5000 * int64(spending.One), Unit: "USD", Per: spending.PerTotal},
	}
	return h
}

func (h *spenders) time() time.Time { return time.UnixMicro(h.now.Load()).UTC() }

func (h *spenders) count(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[what]++
}

// String gives the figures.
func (h *spenders) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := fmt.Sprintf("%d accounts", len(h.real))
	for _, what := range slices.Sorted(maps.Keys(h.counts)) {
		text += fmt.Sprintf(", %d %s", h.counts[what], what)
	}
	return text
}

// life is a replica until it dies.
type life struct {
	*spenders
	*meter.Meter
	db        *store.DB
	partition int
	epoch     int64
	dead      atomic.Bool
	begun     sync.RWMutex // held while a change is stored, so that none is stored after the death
}

var errDead = errors.New("the process has died")

// Post implements [meter.Ledger]: now and then the store does not answer in time, before or after it has stored the posting.
func (l *life) Post(ctx context.Context, p *spending.Posting) error {
	l.begun.RLock()
	defer l.begun.RUnlock()
	if l.dead.Load() {
		return errDead
	}
	if rand.IntN(200) == 0 {
		return context.DeadlineExceeded
	}
	if p.Open > 0 {
		l.reserving(p)
	}
	err := l.db.Post(ctx, p)
	if p.Open < 0 && p.Call.Outcome != spending.OutcomeLost && errors.Is(err, sessions.ErrConflict) {
		l.count("calls of living replicas that were lost")
	}
	if err == nil && rand.IntN(200) == 0 {
		return context.DeadlineExceeded
	}
	return err
}

// reserving notes which accounts a call is about to touch.
func (l *life) reserving(p *spending.Posting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var touched []account
	for _, e := range p.Entries {
		touched = append(touched, account{e.Account, e.Unit})
		for _, b := range l.budgets {
			if b.Name == e.Budget {
				l.limits[e.ID] = b.Limit
			}
		}
	}
	l.of[p.Call.Run] = touched
}

// States implements [meter.Ledger].
func (l *life) States(ctx context.Context, a []spending.Account) (map[string]spending.State, error) {
	return l.db.States(ctx, a)
}

// Renew implements [meter.Ledger].
func (l *life) Renew(ctx context.Context, calls []string, until time.Time) error {
	l.begun.RLock()
	defer l.begun.RUnlock()
	if l.dead.Load() {
		return errDead
	}
	return l.db.Renew(ctx, calls, until)
}

// Lost implements [meter.Ledger].
func (l *life) Lost(ctx context.Context, now time.Time, limit int) ([]*spending.Posting, error) {
	return l.db.Lost(ctx, now, limit)
}

// born starts a replica, as the new owner of its partition.
func (h *spenders) born(replica int) *life {
	l := &life{spenders: h, db: h.stores[replica], partition: replica}
	l.epoch = storetest.Take(h.t, l.db, replica, fmt.Sprintf("replica-%d-%d", replica, rand.Uint64()))
	l.Meter = &meter.Meter{Ledger: l, Now: h.time, Log: slog.New(slog.DiscardHandler)}
	l.Configure(&meter.Settings{Prices: h.prices, Budgets: h.budgets})
	h.living[replica].Store(l)
	return l
}

// run makes the calls. Each replica lives again and again.
func (h *spenders) run() {
	var all sync.WaitGroup
	for replica := range replicaCount {
		all.Go(func() {
			for h.calls.Load() > 0 {
				l := h.born(replica)
				lifetime := int64(50 + rand.IntN(150))
				var working sync.WaitGroup
				for range workers {
					working.Go(func() { l.live(&lifetime) })
				}
				working.Wait()
				h.count("deaths")
			}
		})
	}
	all.Wait()
}

// live makes calls until the replica dies. The one that ends its life does so while the others are in the middle of theirs.
func (l *life) live(lifetime *int64) {
	for !l.dead.Load() && l.calls.Add(-1) >= 0 {
		switch n := atomic.AddInt64(lifetime, -1); {
		case n == 0:
			l.begun.Lock()
			l.dead.Store(true)
			l.begun.Unlock()
			return
		case n%40 == 0:
			l.pass(l.t.Context(), 3)
		case n%20 == 0:
			_, err := l.Sweep(l.t.Context())
			if !errors.Is(err, errDead) && !errors.Is(err, context.DeadlineExceeded) {
				require.NoError(l.t, err)
			}
		}
		l.call()
	}
}

// call makes a call, and stores its end with the answer where the meter leaves that to the caller.
func (l *life) call() {
	defer func() {
		p := recover()
		if err, ok := p.(error); p != nil && !(ok && errors.Is(err, errPanic)) {
			panic(p)
		}
	}()
	l.hour.RLock()
	defer l.hour.RUnlock()
	origin := spending.Origin{
		Run: sessions.NewRunID(), Session: "ses_1", Agent: []string{"main", "coder"}[rand.IntN(2)], Person: fmt.Sprintf("test:%d", rand.IntN(8)),
		Unattended: rand.IntN(3) == 0, Partition: l.partition, Epoch: l.epoch,
	}
	if rand.IntN(10) == 0 {
		origin.Epoch = 0 // the gateway itself
	}
	req := sessions.Request{System: string(make([]byte, rand.IntN(30_000))), MaxTokens: 1 + rand.IntN(8000), Label: flow.Bottom(), Kept: rand.IntN(3) > 0}
	completion, err := l.Wrap("p", "key1", "m", provider{l}).Complete(spending.With(l.t.Context(), origin), req, func(sessions.Chunk) {})
	l.mu.Lock()
	delete(l.of, origin.Run)
	l.mu.Unlock()
	if _, reached := errors.AsType[*spending.Reached](err); reached {
		l.count("calls refused")
	}
	if completion.Posting == nil || rand.IntN(300) == 0 { // the caller fails before it stores the answer
		return
	}
	l.begun.RLock()
	defer l.begun.RUnlock()
	if !l.dead.Load() {
		require.NoError(l.t, l.db.Commit(l.t.Context(), ledger.Change{Change: sessions.Change{Postings: []*spending.Posting{completion.Posting}}}), "no step of a living replica is repeated")
	}
}

// provider is a model. It knows what its calls really cost.
type provider struct{ *life }

var errPanic = errors.New("the client panics")

func (provider) Name() string       { return "p/m" }
func (provider) ContextWindow() int { return 0 }

// Complete answers, or fails in one of many ways.
func (p provider) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	p.hour.RUnlock()
	defer p.hour.RLock()
	most := meter.WorstCase(&req)
	used := sessions.Usage{InputTokens: 1 + rand.IntN(most.InputTokens), OutputTokens: 1 + rand.IntN(most.OutputTokens)}
	failure := func(kind sessions.ModelErrorKind) error {
		return &sessions.ModelError{Kind: kind, Model: "p/m", Err: errors.New("no")}
	}
	switch n := rand.IntN(100); {
	case n < 5:
		p.count("free failures")
		return sessions.Completion{}, failure(sessions.ModelRateLimited)
	case n < 10:
		p.pay(ctx, used, "streams that broke off")
		on(sessions.Chunk{Type: sessions.PartText, Text: "Once upon"})
		return sessions.Completion{}, failure(sessions.ModelCut)
	case n < 15:
		p.pay(ctx, used, "time-outs")
		return sessions.Completion{}, context.DeadlineExceeded
	case n < 20:
		p.pay(ctx, used, "answers without their use")
		return sessions.Completion{}, nil
	case n < 21:
		p.pay(ctx, used, "panics")
		panic(errPanic)
	case n < 22: // it takes hours, of the clock that all share
		p.pass(ctx, 12)
		p.count("calls of two hours")
	}
	p.pay(ctx, used, "answers")
	return sessions.Completion{Usage: used}, nil
}

// pass lets time pass, in which all living replicas sweep as they do. It does not pass while the store works: a call whose
// store stalls for a second would otherwise stall for hours.
func (h *spenders) pass(ctx context.Context, steps int) {
	h.hour.Lock()
	defer h.hour.Unlock()
	for range steps {
		h.now.Add(stride.Microseconds())
		for i := range h.living {
			if l := h.living[i].Load(); l != nil {
				_, _ = l.Sweep(ctx) // what it can't settle, the next one does
			}
		}
	}
}

// pay counts what a call has really cost, and compares it with the limits.
func (p provider) pay(ctx context.Context, used sessions.Usage, what string) {
	run := spending.OriginOf(ctx).Run
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[what]++
	touched := p.of[run]
	require.NotEmpty(p.t, touched)
	for _, a := range touched {
		cost := int64(used.InputTokens + used.OutputTokens)
		if a.unit != spending.Tokens {
			price, _ := p.prices.At("p", "m", p.time())
			cost = int64(price.Cost(spending.Amount{Usage: used}))
		}
		p.real[a.ID] += cost
		require.LessOrEqual(p.t, p.real[a.ID], p.limits[a.ID], a.ID)
	}
}

// settle lets the leases end. Then no account holds anything, and none has spent less than was really spent or more than it may.
func (h *spenders) settle() {
	h.now.Add((3 * time.Hour).Microseconds())
	l := h.born(0)
	for {
		n, err := l.Sweep(h.t.Context())
		if errors.Is(err, context.DeadlineExceeded) {
			continue // a reply that was lost
		}
		require.NoError(h.t, err)
		if n == 0 {
			break
		}
	}
	lost, err := l.db.Lost(h.t.Context(), h.time().Add(1000*time.Hour), 10)
	require.NoError(h.t, err)
	require.Empty(h.t, lost, "no reservation stays")
	require.Zero(h.t, h.counts["calls of living replicas that were lost"])
	var spent int64
	reached := 0
	for id, paid := range h.real {
		states, err := l.db.States(h.t.Context(), []spending.Account{{ID: id}})
		require.NoError(h.t, err)
		state := states[id]
		require.Zero(h.t, state.Held, id)
		require.GreaterOrEqual(h.t, state.Spent, paid, id)
		require.LessOrEqual(h.t, state.Spent, h.limits[id], id)
		if 10*state.Spent >= 8*h.limits[id] {
			reached++
		}
		if id == h.budgets[3].Account("p", time.Time{}).ID {
			spent = state.Spent
		}
	}
	h.counts["accounts at 80 % or more"] = reached
	require.NotZero(h.t, reached, "the limits are tried")
	sums, err := l.db.Sums(h.t.Context(), spending.Query{MaxLevel: flow.Restricted})
	require.NoError(h.t, err)
	require.Len(h.t, sums, 1)
	require.EqualValues(h.t, spent, sums[0].Cost, "the rows add up to what the budget has spent")
	h.counts["USD spent"], h.counts["USD really paid"] = int(spent/int64(spending.One)), int(h.real[h.budgets[3].Account("p", time.Time{}).ID]/int64(spending.One))
}
