package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"sluice/internal/agent/tools"
	"sluice/internal/schema"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// SimulateName is the name of the tool that checks a call without making it.
const SimulateName = "simulate_tool_call"

type simulateArgs struct {
	ToolName string        `json:"tool_name" jsonschema:"the tool that you consider calling" bounds:"minLength=1"`
	Args     schema.Object `json:"args,omitempty" jsonschema:"its arguments; default: none"`
}

// simulateTool does the checks of real calls, without effects.
func (ts *Toolset) simulateTool() sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{
			Name:        SimulateName,
			Description: "Checks whether a call of another tool would be allowed now, and which rules decide, without making the call.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone}, Idempotent: true, AsWritten: true,
	}, tools.Work[simulateArgs]{Run: ts.simulate})
}

func (ts *Toolset) simulate(ctx context.Context, call tools.Call[simulateArgs]) (sessions.ToolResult, error) {
	caller := call.Caller
	args, err := json.Marshal(call.Args.Args)
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("encode arguments", err)
	}
	record, err := ts.Store.Session(ctx, caller.Session)
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("read session", err)
	}
	record.Taint = caller.Taint // live
	s, err := ts.Simulate(ctx, record, caller, call.Args.ToolName, args)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	text, err := tools.JSON(s)
	return sessions.ToolResult{Text: text, Label: flow.NewLabel(caller.Taint.Level(), flow.Trusted)}, err
}

// Simulate returns the decision about a session's call. It asks the monitor, the session's permission mode and the
// tool's own checks as a real call does, but without effects. Of the caller, Route, User, Owner and Reader are used;
// the rest comes from the session. Data above Reader is treated as missing.
func (ts *Toolset) Simulate(ctx context.Context, record sessions.Record, caller sessions.Caller, tool string, args json.RawMessage) (policy.Simulation, error) {
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	if err := json.Unmarshal(args, &map[string]json.RawMessage{}); err != nil {
		return policy.Simulation{}, fmt.Errorf("args: want an object: %w", err)
	}
	caller.Session, caller.Key, caller.Agent, caller.Taint, caller.Clearance = record.ID, record.Key, record.Agent, record.Taint, record.Clearance
	caller.Trail = &sessions.Trail{} // a simulated call is not recorded as denied
	s := policy.Simulation{Tool: tool, Level: record.Taint.Level(), ResultingLevel: record.Taint.Level()}
	t, mode, err := ts.named(ctx, record, tool)
	if err != nil {
		return policy.Simulation{}, err
	}
	if t.Spec.Name == "" || above(t.Flow, caller.Reader) {
		s.Decide(policy.Decision{Action: policy.Block, Reason: fmt.Sprintf("there is no tool %q", tool), Rules: []policy.CheckResult{}})
		return s, nil
	}
	d := ts.judged(ctx, policy.Call{
		MonitoredCall: sessions.MonitoredCall{Record: record, CallID: caller.CallID + "/simulated", Tool: t, Args: t.Arguments(args)},
		Route:         policy.FirstRoute(caller.Route, record.Route), User: caller.User, Owner: caller.Owner,
	})
	switch mode.Ruling(t) {
	case sessions.RulingAsk:
		d.Add("permission", policy.Hold, "the agent's permission mode is ask")
	case sessions.RulingRefuse:
		d.Add("permission", policy.Block, "the agent's permission mode is deny")
	}
	if (d.Action == policy.Allow || d.Action == policy.Redact) && t.Check != nil {
		if err := t.Check(ctx, caller, args); err != nil {
			refused(&d, err)
		}
	}
	if caller.Reader != flow.Restricted {
		d.HideSecrets()
	}
	s.Decide(d)
	if t.Flow.Reads == sessions.FlowOutside && d.Action != policy.Block {
		s.ResultingLevel = record.Taint.Join(t.Flow.Source).Level()
	}
	return s, nil
}

// judged is the monitor's decision about a call, without effects.
func (ts *Toolset) judged(ctx context.Context, call policy.Call) policy.Decision {
	monitor := ts.Roster.Settings().Monitor
	reach, err := monitor.Reach(ctx, call)
	if err != nil {
		ts.Log.Error("can't find out where a simulated call goes", "tool", call.Tool.Spec.Name, "err", err)
	}
	call.Reach = reach
	d, _ := monitor.Ask(call, false)
	return d
}

// above reports whether one end of a tool is above a reader's level; an invalid reader sees what the session does.
func above(f sessions.ToolFlow, reader flow.Level) bool {
	return f.Reads == sessions.FlowOutside && tools.HiddenFrom(reader, f.Source) || f.Writes == sessions.FlowOutside && tools.HiddenFrom(reader, flow.NewLabel(f.Sink, flow.Trusted))
}

// named finds a session's tool by name, or the zero value if the session lacks the tool, and the permission mode of its calls.
func (ts *Toolset) named(ctx context.Context, record sessions.Record, tool string) (sessions.Tool, sessions.PermissionMode, error) {
	d, ok := ts.Roster.Definition(record.Agent)
	if !ok {
		return sessions.Tool{}, "", fmt.Errorf("agent %q is not in the configuration", record.Agent)
	}
	kit, err := ts.Kit(ctx, d, record)
	if err != nil {
		return sessions.Tool{}, "", err
	}
	i := slices.IndexFunc(kit.Tools, func(t sessions.Tool) bool { return t.Spec.Name == tool })
	if i < 0 {
		return sessions.Tool{}, "", nil
	}
	return kit.Tools[i], kit.Permission, nil
}

// refused adds a tool's own refusal to a decision.
func refused(d *policy.Decision, err error) {
	if gate, ok := errors.AsType[*tools.GateError](err); ok {
		d.Rules = append(d.Rules, gate.Rules...)
		d.Add("gate", gate.Action, gate.Reason)
		return
	}
	if _, ok := errors.AsType[*tools.InsideError](err); ok {
		err = tools.ErrInside
	}
	d.Add("tool", policy.Block, err.Error())
}
