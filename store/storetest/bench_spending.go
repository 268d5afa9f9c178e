package storetest

import (
	"context"
	"fmt"
	"log/slog"
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
	"sluice/store/trace"
)

const (
	ledgerRows  = 1_000_000 // calls that the ledger of [BenchmarkCall] has
	callsAtOnce = 64
)

// BenchmarkCall reports what a model call costs this process in processor time and in statements, without budgets and with
// two, while the ledger has a million rows, one call after the other and many at once. The step that stores the answer stores the call's row in the same commit.
func BenchmarkCall(b *testing.B, open func(ctx context.Context) (*store.DB, error)) {
	b.Helper()
	var statements atomic.Int64
	db, err := open(trace.With(b.Context(), func(string, []any) { statements.Add(1) }))
	require.NoError(b, err)
	defer func() { require.NoError(b, db.Close()) }()
	fillLedger(b, db)
	prices := spending.Prices{}
	prices.Add("p/m", spending.Flat(1, 1))
	for name, budgets := range map[string][]*spending.Budget{"without budgets": nil, "with two budgets": {
		{Name: "house", Scope: spending.ScopeGateway, Limit: 1 << 60, Unit: "USD", Per: spending.PerDay},
		{Name: "each", Scope: spending.ScopePerson, Limit: 1 << 60, Unit: spending.Tokens, Per: spending.PerDay},
	}} {
		run := func(b *testing.B, atOnce int) {
			b.Helper()
			m := &meter.Meter{Ledger: db, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
			m.Configure(&meter.Settings{Prices: &pricelist.List{Own: prices}, Budgets: budgets})
			model := m.Wrap("p", "key1", "m", quick{})
			ctx := spending.With(b.Context(), spending.Origin{Run: "run_1", Session: "ses_1", Agent: "main", Person: "telegram:5"})
			statements.Store(0)
			before := processor()
			var calls atomic.Int64
			var all sync.WaitGroup
			for range atOnce {
				all.Go(func() {
					for calls.Add(1) <= int64(b.N) {
						if err := one(ctx, db, model); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(processor()-before)/float64(b.N)/float64(time.Millisecond), "cpu-ms/call")
			b.ReportMetric(float64(statements.Load())/float64(b.N), "statements/call")
		}
		b.Run(name+", alone", func(b *testing.B) { run(b, 1) })
		b.Run(name, func(b *testing.B) { run(b, callsAtOnce) })
	}
}

// one makes a call and stores its row, like the step that stores the answer.
func one(ctx context.Context, db *store.DB, model sessions.Model) error {
	completion, err := model.Complete(ctx, sessions.Request{System: "You help.", MaxTokens: 100, Label: flow.Bottom(), Kept: true}, func(sessions.Chunk) {})
	if err != nil {
		return err
	}
	return db.Commit(ctx, ledger.Change{Change: sessions.Change{Postings: []*spending.Posting{completion.Posting}}})
}

// quick is a model that answers at once.
type quick struct{ sessions.Model }

func (quick) Complete(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
	return sessions.Completion{Usage: sessions.Usage{InputTokens: 10, OutputTokens: 5}}, nil
}

// fillLedger stores calls of half a year, each day's with its budgets.
func fillLedger(b *testing.B, db *store.DB) {
	b.Helper()
	const batch = 2000
	began := time.Now().Add(-180 * 24 * time.Hour)
	for n := 0; n < ledgerRows; n += batch {
		var change ledger.Change
		for i := range batch {
			c := newCall(fmt.Sprintf("call_%08d", n+i), 0)
			c.Started, c.Person, c.Session = began.Add(time.Duration(n+i)*15*time.Second), fmt.Sprintf("telegram:%d", i%100), sessions.ID(fmt.Sprintf("ses_%d", i%500))
			change.Postings = append(change.Postings, &spending.Posting{Call: c})
		}
		require.NoError(b, db.Commit(b.Context(), change))
	}
}
