package talk

import (
	"context"
	"encoding/json"
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

const spawnSchema = `{"type":"object","additionalProperties":false,"required":["task"],"properties":{
"task":{"type":"string","minLength":1,"description":"what to do, with all the context that the sub-agent needs"},
"label":{"type":"string","maxLength":512,"description":"a short name of the task, for people"},
"agentId":{"type":"string","description":"the agent to do it; agents_list shows which; default: yourself"},
"model":{"type":"string","description":"<provider>/<model>; default: the agent's"},
"runTimeoutSeconds":{"type":"integer","minimum":0,"maximum":86400,"description":"how long the work may take; 0: as configured"},
"cleanup":{"type":"string","enum":["keep","delete"],"description":"what happens to the sub-agent's session after its report; default keep"}}}`

type spawnArgs struct {
	Task              string `json:"task"`
	Label             string `json:"label"`
	AgentID           string `json:"agentId"`
	Model             string `json:"model"`
	RunTimeoutSeconds int    `json:"runTimeoutSeconds"`
	Cleanup           string `json:"cleanup"`
}

func (a *spawnArgs) check() error {
	switch {
	case strings.TrimSpace(a.Task) == "":
		return errors.New("task: is required")
	case len(a.Task) > sendTextMax:
		return fmt.Errorf("task: is %d bytes long, the maximum is %d", len(a.Task), sendTextMax)
	case len(a.Label) > spawnNameMax:
		return fmt.Errorf("label: is %d bytes long, the maximum is %d", len(a.Label), spawnNameMax)
	case a.RunTimeoutSeconds < 0 || a.RunTimeoutSeconds > 86400:
		return fmt.Errorf("runTimeoutSeconds: %d is not between 0 and 86400", a.RunTimeoutSeconds)
	case a.Cleanup != "" && a.Cleanup != "keep" && a.Cleanup != "delete":
		return fmt.Errorf("cleanup: %q is not keep or delete", a.Cleanup)
	}
	return nil
}

// spawnResult is the result of sessions_spawn.
type spawnResult struct {
	Status          string         `json:"status"` // accepted
	RunID           sessions.RunID `json:"runId"`
	ChildSessionKey sessions.Key   `json:"childSessionKey"`
}

// spawnTool may be repeated after a crash: the call names the task.
func (ts *Tools) spawnTool() sessions.Tool {
	return sessions.Tool{
		Spec: sessions.ToolSpec{
			Name: "sessions_spawn", Parameters: json.RawMessage(spawnSchema),
			Description: "Gives a task to a sub-agent with a session of its own and returns at once. The result is announced in this conversation when it is done.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowNone, Writes: sessions.FlowAgent}, Idempotent: true,
		Run: ts.spawn,
		Check: func(_ context.Context, caller sessions.Caller, raw json.RawMessage) error {
			_, err := ts.spawnPlan(caller, raw)
			return err
		},
	}
}

func (ts *Tools) spawn(ctx context.Context, caller sessions.Caller, raw json.RawMessage) (sessions.ToolResult, error) {
	args, err := ts.spawnPlan(caller, raw)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	parent, err := ts.Store.Session(ctx, caller.Session)
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("read session", err)
	}
	if caller.Route.IsZero() {
		caller.Route = parent.Route
	}
	x, err := ts.Exchanges.StartExchange(ctx, exchange.Ask{
		Kind: announce.Spawn, Caller: caller, Create: true, Text: args.Task, Label: caller.Taint, Key: tools.CallKey(caller, raw),
		Target: ts.Exchanges.NewSubAgent(parent, args.AgentID, args.Model, args.Label, caller.Taint),
		Task:   exchange.Task{Name: args.Label, Timeout: time.Duration(args.RunTimeoutSeconds) * time.Second, Discard: args.Cleanup == "delete"},
	})
	if err != nil {
		return sessions.ToolResult{}, publicSendError(err)
	}
	text, err := tools.JSON(spawnResult{Status: "accepted", RunID: x.First, ChildSessionKey: x.Target.Key})
	return sessions.ToolResult{Text: text, Label: flow.NewLabel(caller.Taint.Level(), flow.Trusted)}, err
}

// spawnPlan reads a call, or says why it is refused.
func (ts *Tools) spawnPlan(caller sessions.Caller, raw json.RawMessage) (args spawnArgs, err error) {
	if err := tools.DecodeArgs(raw, &args); err != nil {
		return args, err
	}
	if err := args.check(); err != nil {
		return args, err
	}
	return args, ts.maySpawn(caller, &args)
}

// maySpawn checks who may start which agent, and completes the arguments.
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
