package app

import (
	"context"
	"time"

	"sluice/internal/agent"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/sessions"
)

// exchanges is the agent loop's way to the router, which is made after it.
type exchanges struct{ *App }

var _ agent.Exchanges = exchanges{}

// StartExchange implements [agent.Exchanges].
func (e exchanges) StartExchange(ctx context.Context, a exchange.Ask) (ledger.Exchange, error) {
	return e.router.Exchanges().Start(ctx, a)
}

// WaitRun implements [agent.Exchanges].
func (e exchanges) WaitRun(ctx context.Context, id sessions.RunID, d time.Duration) (sessions.Run, error) {
	return e.router.Sessions().WaitRun(ctx, id, d)
}

// NewSubAgent implements [agent.Exchanges].
func (e exchanges) NewSubAgent(parent sessions.Record, agent, model, name string, label flow.Label) sessions.Record {
	return e.router.Places().NewSubAgent(parent, agent, model, name, label)
}

// NewAgentSession implements [agent.Exchanges].
func (e exchanges) NewAgentSession(agent string) sessions.Record {
	return e.router.Places().NewAgentSession(agent)
}
