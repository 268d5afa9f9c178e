package talk

import (
	"context"
	"slices"

	"sluice/internal/agent/tools"
	"sluice/policy/flow"
	"sluice/sessions"
)

// agentRow is a row of agents_list.
type agentRow struct {
	ID         string `json:"id"`
	Name       string `json:"name,omitempty"`
	Configured bool   `json:"configured"`
}

func (ts *Tools) agentsTool() sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{
			Name:        "agents_list",
			Description: "Lists the agents that you may start as sub-agents with sessions_spawn, yourself first.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowNone, Writes: sessions.FlowNone}, Idempotent: true,
	}, tools.Work[struct{}]{Run: ts.listAgents})
}

func (ts *Tools) listAgents(_ context.Context, call tools.Call[struct{}]) (sessions.ToolResult, error) {
	caller := call.Caller
	own, _ := ts.Roster.Definition(caller.Agent)
	rows := []agentRow{{ID: caller.Agent, Name: own.Name, Configured: own.ID != ""}}
	for _, d := range ts.Roster.Settings().Agents {
		if d.ID != caller.Agent && ts.Roster.MayStart(caller.Agent, d.ID) {
			rows = append(rows, agentRow{ID: d.ID, Name: d.Name, Configured: true})
		}
	}
	text, err := tools.JSON(map[string]any{"requester": caller.Agent, "allowAny": slices.Contains(own.AllowAgents, "*"), "agents": rows})
	return sessions.ToolResult{Text: text, Label: flow.Bottom()}, err
}
