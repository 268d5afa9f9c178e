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

// exchanges is what agents ask of other sessions.
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

// NewSubAgent implements [agent.Exchanges].
func (e exchanges) NewSubAgent(parent sessions.Record, agent, model, name string, label flow.Label) sessions.Record {
	return e.places.NewSubAgent(parent, agent, model, name, label)
}

// NewAgentSession implements [agent.Exchanges].
func (e exchanges) NewAgentSession(agent string) sessions.Record {
	return e.places.NewAgentSession(agent)
}

// models are the models of agents, and those that a session may be given.
type models struct {
	*roster.Roster
	choose         func(name string, knows flow.Level) error
	maxTemperature func(name string) float32
}

// CheckModel gives an error for a model that no session may be given, see [commands.ModelChecker].
func (m models) CheckModel(name string, knows flow.Level) error { return m.choose(name, knows) }

// MaxTemperature is the highest temperature that a model takes, see [commands.TemperatureChecker].
func (m models) MaxTemperature(name string) float32 { return m.maxTemperature(name) }
