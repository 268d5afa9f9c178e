package app

import (
	"context"
	"time"

	"sluice/internal/agent"
	"sluice/internal/agent/roster"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/router/manage"
	"sluice/router/place"
	"sluice/sessions"
)

// exchanges starts the work that agents request from other sessions.
type exchanges struct {
	begun    *exchange.Exchanges
	sessions *manage.Sessions
	places   *place.Places
}

var _ agent.Exchanges = exchanges{}

// StartExchange implements [agent.Exchanges].
func (e exchanges) StartExchange(ctx context.Context, a exchange.Ask) (ledger.Exchange, error) {
	return e.begun.Start(ctx, a)
}

// WaitRun implements [agent.Exchanges].
func (e exchanges) WaitRun(ctx context.Context, id sessions.RunID, d time.Duration) (sessions.Run, error) {
	return e.sessions.WaitRun(ctx, id, d)
}

// NewAgentSession implements [agent.Exchanges].
func (e exchanges) NewAgentSession(agent string) sessions.Record {
	return e.places.NewAgentSession(agent)
}

// models has the agents' models, and those that a session may choose.
type models struct {
	*roster.Roster
	choose         func(name string, knows flow.Level) error
	maxTemperature func(name string) float32
	clear          func(ctx context.Context, provider string) ([]string, error)
}

// ClearModels uses a provider's keys and models again, see [commands.ModelClearer].
func (m models) ClearModels(ctx context.Context, provider string) ([]string, error) {
	return m.clear(ctx, provider)
}

// CheckModel returns an error for a model that no session may use, see [commands.ModelChecker].
func (m models) CheckModel(name string, knows flow.Level) error { return m.choose(name, knows) }

// MaxTemperature returns the highest temperature that a model accepts, see [commands.TemperatureChecker].
func (m models) MaxTemperature(name string) float32 { return m.maxTemperature(name) }
