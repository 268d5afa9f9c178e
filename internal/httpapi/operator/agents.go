package operator

import (
	"context"
	"slices"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/wire"
	"sluice/internal/spending"
	"sluice/policy/flow"
)

// Agents knows the agents of the configuration.
type Agents interface {
	// Agents returns them in the order of the configuration, with the programs that are connected.
	Agents(ctx context.Context) ([]Agent, error)
	// Tools returns the tools of an agent, without those whose source or sink is above the reader's level.
	Tools(ctx context.Context, agent string, reader flow.Level) ([]AgentTool, error)
}

// Agent is an agent of the configuration.
type Agent struct {
	ID             string      `json:"id"`
	Name           string      `json:"name"`
	Default        bool        `json:"default" doc:"it handles messages that no binding matches"`
	Kind           string      `json:"kind" enum:"loop,nats,command,a2a" doc:"who works its runs"`
	Model          string      `json:"model,omitempty" doc:"of kind loop"`
	Classification string      `json:"classification,omitempty" doc:"of a program: the highest level that it may get"`
	Instances      []Instance  `json:"instances,omitempty" doc:"of kind nats: the programs that are connected"`
	Calls          *CallDay    `json:"calls,omitempty" doc:"only with calls=true"`
	Tools          []AgentTool `json:"tools,omitempty" doc:"only with tools=true, and only those whose levels the token may know"`
}

// AgentTool is a tool that sessions of an agent have.
type AgentTool struct {
	Name        string `json:"name"`
	Description string `json:"description" doc:"as the model reads it"`
	Server      string `json:"server,omitempty" doc:"the MCP server that it comes from"`
	Reads       string `json:"reads" enum:"none,session,agent,memory,delivery,outside" doc:"where its results come from"`
	Writes      string `json:"writes" enum:"none,session,agent,memory,delivery,outside" doc:"where its arguments go to"`
	Source      string `json:"source,omitempty" doc:"level and trust of its results, if it reads outside the gateway, such as INTERNAL/untrusted"`
	Sink        string `json:"sink,omitempty" doc:"the highest level that may be written to it, if it writes outside the gateway"`
	Permission  string `json:"permission" enum:"allow,ask,deny" doc:"what the agent's permission mode says about a call: it runs, a person is asked, or it is refused. The policy can be stricter"`
}

// CallDay is what the model calls of an agent were like in the last 24 hours, as far as the caller may see them one by one.
type CallDay struct {
	Since  time.Time `json:"since" doc:"24 hours ago, or later if there were more than 10,000 calls: then only the newest count"`
	Calls  int       `json:"calls" doc:"calls that have ended"`
	Failed int       `json:"failed" doc:"calls without an answer"`
	P95    *int64    `json:"p95_ms,omitempty" doc:"95 of 100 answers took at most so long; absent without answers"`
	Input  int       `json:"input_tokens"`
	Output int       `json:"output_tokens"`

	took []time.Duration
}

// Instance is a program on the bus, as it describes itself.
type Instance struct {
	ID      string    `json:"id"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Turns   int       `json:"turns" doc:"that it was asked for"`
}

// CallRows reads calls of models one by one.
type CallRows interface {
	// CallsSince reads those that began since a time and have ended, at most limit, newest first.
	CallsSince(ctx context.Context, most flow.Level, since time.Time, limit int) ([]spending.CallPoint, error)
}

// AgentAPI serves the agents of the configuration.
type AgentAPI struct {
	Agents Agents
	Calls  CallRows
	Now    func() time.Time
}

// callsMax is how many calls of the last 24 hours are read for all agents together.
const callsMax = 10_000

// AgentQuery is what is wanted of agents.
type AgentQuery struct {
	Calls bool `query:"calls" doc:"also what their model calls were like in the last 24 hours"`
	Tools bool `query:"tools" doc:"also the tools that their sessions have"`
}

// list reads the agents, or only one of them.
func (a *AgentAPI) list(ctx context.Context, only string, in AgentQuery) ([]Agent, error) {
	all, err := a.Agents.Agents(ctx)
	if err != nil {
		return nil, err
	}
	if only != "" {
		all = slices.DeleteFunc(all, func(x Agent) bool { return x.ID != only })
	}
	if in.Tools {
		for i := range all {
			if all[i].Tools, err = a.Agents.Tools(ctx, all[i].ID, auth.CallerOf(ctx).Level); err != nil {
				return nil, err
			}
		}
	}
	if !in.Calls || len(all) == 0 {
		return all, nil
	}
	since := a.Now().UTC().Add(-24 * time.Hour)
	calls, err := a.Calls.CallsSince(ctx, auth.CallerOf(ctx).Level, since, callsMax)
	if err != nil {
		return nil, err
	}
	if len(calls) == callsMax {
		since = calls[callsMax-1].Started.UTC()
	}
	days := make(map[string]*CallDay, len(all))
	for i := range all {
		all[i].Calls = &CallDay{Since: since}
		days[all[i].ID] = all[i].Calls
	}
	for i := range calls {
		if d := days[calls[i].Agent]; d != nil { // else the configuration has the agent no longer
			d.add(&calls[i])
		}
	}
	for _, d := range days {
		d.finish()
	}
	return all, nil
}

func (d *CallDay) add(c *spending.CallPoint) {
	d.Calls, d.Input, d.Output = d.Calls+1, d.Input+c.Input, d.Output+c.Output
	if c.Failed {
		d.Failed++
		return
	}
	d.took = append(d.took, c.Latency)
}

func (d *CallDay) finish() {
	if len(d.took) == 0 {
		return
	}
	slices.Sort(d.took)
	ms := d.took[(len(d.took)-1)*95/100].Milliseconds()
	d.P95 = &ms
}

type agentList struct {
	Agents []Agent `json:"agents"`
}

// List lists the agents.
func (a *AgentAPI) List(ctx context.Context, in *AgentQuery) (*wire.Body[agentList], error) {
	all, err := a.list(ctx, "", *in)
	if err != nil {
		return nil, err
	}
	return wire.NewBody(agentList{Agents: all}), nil
}

// AgentInput names an agent. It is exported because the API library only sees exported types.
type AgentInput struct {
	Agent string `path:"agent"`
	AgentQuery
}

// Get returns an agent.
func (a *AgentAPI) Get(ctx context.Context, in *AgentInput) (*wire.Body[Agent], error) {
	all, err := a.list(ctx, in.Agent, in.AgentQuery)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, wire.ErrNotFound
	}
	return wire.NewBody(all[0]), nil
}
