package talk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/announce"
	"sluice/internal/agent/tools"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/sessions"
)

const spawnNameMax = 512

type spawnArgs struct {
	Task              string `json:"task" jsonschema:"what to do, with all the context that the sub-agent needs" bounds:"minLength=1"`
	Label             string `json:"label,omitempty" jsonschema:"a short name of the task, for people" bounds:"maxLength=512"`
	AgentID           string `json:"agentId,omitempty" jsonschema:"the agent to do it; agents_list shows which; default: yourself"`
	Model             string `json:"model,omitempty" jsonschema:"<provider>/<model>; default: the agent's"`
	RunTimeoutSeconds int    `json:"runTimeoutSeconds,omitempty" jsonschema:"how long the work may take; default 0: no limit but that of all runs" bounds:"minimum=0,maximum=86400"`
	Cleanup           string `json:"cleanup,omitempty" jsonschema:"what happens to the sub-agent's session after its report; default keep" bounds:"enum=keep|delete,empty"`
}

func (a *spawnArgs) check() error {
	switch {
	case strings.TrimSpace(a.Task) == "":
		return errors.New("task: is required")
	case len(a.Task) > sendTextMax:
		return fmt.Errorf("task: is %d bytes long, the maximum is %d", len(a.Task), sendTextMax)
	case len(a.Label) > spawnNameMax:
		return fmt.Errorf("label: is %d bytes long, the maximum is %d", len(a.Label), spawnNameMax)
	}
	return nil
}

// spawnResult is the result of sessions_spawn.
type spawnResult struct {
	Status          string         `json:"status"` // accepted
	RunID           sessions.RunID `json:"runId"`
	ChildSessionKey sessions.Key   `json:"childSessionKey"`
	Note            string         `json:"note,omitempty"` // which limit the work has, where the call gives none
}

// spawnTool may be repeated after a crash: the call names the task.
func (ts *Tools) spawnTool() sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{
			Name:        "sessions_spawn",
			Description: "Gives a task to a sub-agent with a session of its own and returns at once. The result is announced in this conversation when the task is done.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowNone, Writes: sessions.FlowAgent}, Idempotent: true,
	}, tools.Work[spawnArgs]{SubAgent: ts.spawn, Check: func(_ context.Context, call tools.Call[spawnArgs]) error {
		_, err := ts.completed(call)
		return err
	}})
}

// spawn plans the sub-agent's session. The exchange that starts it stores it and gives it the task.
func (ts *Tools) spawn(_ context.Context, call tools.Call[spawnArgs]) (sessions.SubAgentPlan, error) {
	args, err := ts.completed(call)
	if err != nil {
		return sessions.SubAgentPlan{}, err
	}
	plan := sessions.SubAgentPlan{
		Agent: sessions.Agent{ID: args.AgentID}, Task: args.Task, Description: args.Label,
		Start: func(ctx context.Context, child sessions.Record) (sessions.ToolResult, error) {
			return ts.start(ctx, call, child)
		},
	}
	if args.Model != "" {
		if plan.Model, err = ts.Models(args.Model); err != nil {
			return plan, fmt.Errorf("model: %w", err)
		}
	}
	return plan, nil
}

// start gives the task to the sub-agent.
func (ts *Tools) start(ctx context.Context, call tools.Call[spawnArgs], child sessions.Record) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	if caller.Route.IsZero() {
		parent, err := ts.Store.Session(ctx, caller.Session)
		if err != nil {
			return sessions.ToolResult{}, tools.Inside("read session", err)
		}
		caller.Route = parent.Route
	}
	x, err := ts.Exchanges.StartExchange(ctx, exchange.Ask{
		Kind: announce.Spawn, Caller: caller, Target: child, Create: true, Text: args.Task, Label: caller.Taint, Key: call.Key(),
		Task: exchange.Task{Name: args.Label, Timeout: time.Duration(args.RunTimeoutSeconds) * time.Second, Discard: args.Cleanup == "delete"},
	})
	if err != nil {
		return sessions.ToolResult{}, publicSendError(err)
	}
	result := spawnResult{Status: "accepted", RunID: x.First, ChildSessionKey: x.Target.Key}
	if limit := ts.Roster.Settings().RunTimeout; args.RunTimeoutSeconds == 0 && limit > 0 {
		result.Note = fmt.Sprintf("session.runTimeout ends the work after %s", limit)
	}
	text, err := tools.JSON(result)
	return sessions.ToolResult{Text: text, Label: flow.NewLabel(caller.Taint.Level(), flow.Trusted)}, err
}

// completed adds the defaults to a call's arguments, or says why the call is refused.
func (ts *Tools) completed(call tools.Call[spawnArgs]) (spawnArgs, error) {
	args := call.Args
	if err := args.check(); err != nil {
		return args, err
	}
	err := ts.maySpawn(call.Caller, &args)
	return args, err
}

// maySpawn checks who may start which agent, and fills in the arguments.
func (ts *Tools) maySpawn(caller sessions.Caller, args *spawnArgs) error {
	if caller.Key.SubAgent() {
		return errors.New("a sub-agent can't start others")
	}
	if args.AgentID == "" {
		args.AgentID = caller.Agent
	}
	if _, ok := ts.Roster.Definition(args.AgentID); !ok || !ts.Roster.MayStart(caller.Agent, args.AgentID) {
		return fmt.Errorf("agentId: you may not start %q: agents_list shows the agents that you may start (agents.list[].subagents.allowAgents)", args.AgentID)
	}
	if args.Model != "" {
		if err := ts.CheckModel(args.Model, caller.Taint.Level()); err != nil {
			return fmt.Errorf("model: %w", err)
		}
	}
	return nil
}
