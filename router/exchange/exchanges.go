package exchange

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/spending"
	"sluice/internal/telemetry"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// Store is the database, as exchanges read it.
type Store interface {
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error)
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
	WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error)
	Exchange(ctx context.Context, id string) (ledger.Exchange, error)
	ExchangeByKey(ctx context.Context, key string) (ledger.Exchange, error)
	ListExchanges(ctx context.Context, q ledger.ExchangeQuery) ([]ledger.Exchange, error)
	Chain(ctx context.Context, id string) (ledger.ChainUse, error)
}

// Config has the dependencies of Exchanges. All fields are required.
type Config struct {
	Store    Store
	Commit   func(ctx context.Context, change ledger.Change) error // stores a change, and wakes the lanes that it gives work to
	Places   *place.Places
	Invoke   func(v policy.Invocation) policy.Decision // whether one agent may start work for another
	Delivery func(kind ledger.DeliveryKind, route sessions.Route, text string, label flow.Label) ledger.Delivery
	HasAgent func(agent string) bool // whether an agent is configured
	Stopping func() bool             // whether the gateway accepts no new work
	Now      func() time.Time
	Ended    *prometheus.CounterVec // exchanges, by kind and outcome
	Limits   Limits
	Spending Spending          // nil: reports do not say what a task has cost
	Tracer   *telemetry.Tracer // nil: exchanges are not traced
}

// Limits counts requests, see [limits.Counter].
type Limits interface {
	// Count returns a *[limits.Reached] if a limit is reached.
	Count(ctx context.Context, all ...ledger.LimitCount) error
}

// Spending reads the cost of model calls.
type Spending interface {
	// RunCost is what the calls of a session's run have cost that have ended, one sum for each currency.
	RunCost(ctx context.Context, session sessions.ID, run sessions.RunID) ([]spending.Sum, error)
}

// Exchanges starts exchanges and takes each of them from step to step. It is safe for concurrent use.
type Exchanges struct {
	store    Store
	commit   func(ctx context.Context, change ledger.Change) error
	places   *place.Places
	settings func() *place.Settings
	invoke   func(v policy.Invocation) policy.Decision
	delivery func(kind ledger.DeliveryKind, route sessions.Route, text string, label flow.Label) ledger.Delivery
	hasAgent func(agent string) bool
	stopping func() bool
	now      func() time.Time
	ended    *prometheus.CounterVec
	limits   Limits
	spending Spending
	tracer   *telemetry.Tracer
}

// New creates Exchanges.
func New(c Config) *Exchanges {
	return &Exchanges{
		store: c.Store, commit: c.Commit, places: c.Places, settings: c.Places.Settings, invoke: c.Invoke, delivery: c.Delivery,
		hasAgent: c.HasAgent, stopping: c.Stopping, now: c.Now, ended: c.Ended, limits: c.Limits, spending: c.Spending, tracer: c.Tracer,
	}
}
