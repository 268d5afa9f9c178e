package operator

import (
	"context"
	"slices"
	"time"

	"sluice/internal/httpapi/wire"
)

// Agents knows the agents of the configuration.
type Agents interface {
	// Agents returns them in the order of the configuration, with the programs that are connected.
	Agents(ctx context.Context) ([]Agent, error)
}

// Agent is an agent of the configuration.
type Agent struct {
	ID             string     `json:"id"`
	Name           string     `json:"name"`
	Default        bool       `json:"default" doc:"it handles messages that no binding matches"`
	Kind           string     `json:"kind" enum:"loop,nats,command,a2a" doc:"who works its runs"`
	Model          string     `json:"model,omitempty" doc:"of kind loop"`
	Classification string     `json:"classification,omitempty" doc:"of a program: the highest level that it may get"`
	Instances      []Instance `json:"instances,omitempty" doc:"of kind nats: the programs that are connected"`
}

// Instance is a program on the bus, as it describes itself.
type Instance struct {
	ID      string    `json:"id"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Turns   int       `json:"turns" doc:"that it was asked for"`
}

// AgentAPI serves the agents of the configuration.
type AgentAPI struct{ Agents Agents }

type agentList struct {
	Agents []Agent `json:"agents"`
}

// List lists the agents.
func (a *AgentAPI) List(ctx context.Context, _ *struct{}) (*wire.Body[agentList], error) {
	all, err := a.Agents.Agents(ctx)
	if err != nil {
		return nil, err
	}
	return wire.NewBody(agentList{Agents: all}), nil
}

type agentInput struct {
	Agent string `path:"agent"`
}

// Get returns an agent.
func (a *AgentAPI) Get(ctx context.Context, in *agentInput) (*wire.Body[Agent], error) {
	all, err := a.Agents.Agents(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(x Agent) bool { return x.ID == in.Agent })
	if i < 0 {
		return nil, wire.ErrNotFound
	}
	return wire.NewBody(all[i]), nil
}
