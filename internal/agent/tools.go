package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// newTools are the tools that every agent has.
func (l *Loop) newTools() []sessions.Tool {
	tools := []sessions.Tool{l.listTool(), l.historyTool(), l.statusTool(), l.messageTool(), l.sendTool(), l.spawnTool(), l.agentsTool(), l.summarizeTool(), l.simulateTool()}
	tools = append(tools, l.todoTools()...)
	tools = append(tools, l.memoryTools()...)
	tools = append(tools, l.workspaceTools()...)
	for i := range tools {
		tools[i].Run = l.guarded(tools[i].Spec.Name, tools[i].Run)
	}
	return tools
}

// ToolNames are the names of the tools that agents have by themselves, whatever is configured.
func ToolNames() []string {
	names := []string{webName}
	for _, tool := range (&Loop{}).newTools() {
		names = append(names, tool.Spec.Name)
	}
	return names
}

// ToolFilter changes a set of tools by their names, or patterns with *.
type ToolFilter struct{ Allow, Deny []string }

// has reports whether an agent with this filter has a tool. Without a sandbox it needs the word of its owner for exec.
func (f ToolFilter) has(name string, mode sessions.SandboxMode) bool {
	switch {
	case policy.NameMatches(f.Deny, name):
		return false
	case name == execName && !sandboxed(mode):
		return slices.Contains(f.Allow, name)
	}
	return len(f.Allow) == 0 || policy.NameMatches(f.Allow, name)
}

// sandboxed reports whether a mode wants a sandbox.
func sandboxed(mode sessions.SandboxMode) bool {
	return mode == sessions.SandboxOptional || mode == sessions.SandboxRequired
}

// sessionTools are those that a sub-agent does not have by itself.
var sessionTools = []string{"sessions_list", "sessions_history", "sessions_send", "session_status", "agents_list", "message"}

// remoteTools are the tools of servers outside the gateway, as they are now. One that does not say where its data
// comes from and goes to, or that has another's name, is none.
func (l *Loop) remoteTools() []sessions.Tool {
	if l.remote == nil {
		return nil
	}
	tools := slices.Clone(l.remote())
	if len(tools) == 0 {
		return nil
	}
	if err := checkTools(append(slices.Clone(l.tools), tools...)); err != nil {
		l.log.Error("tools of MCP servers not taken", "err", err)
		return nil
	}
	for i := range tools {
		tools[i].Run = l.guarded(tools[i].Spec.Name, tools[i].Run)
	}
	return tools
}

// toolsOf are the tools of a session. A sub-agent never starts others, and reaches outside the gateway
// only by tools that the agent that has started it has too.
func (l *Loop) toolsOf(d, starter Definition, record sessions.Record) []sessions.Tool {
	tools := slices.DeleteFunc(slices.Concat(l.tools, l.webTools(), l.remoteTools()), func(t sessions.Tool) bool {
		return !d.Tools.has(t.Spec.Name, d.Sandbox) || (d.Workspace == "" && slices.Contains(fileTools, t.Spec.Name))
	})
	for i := range tools {
		if d.FileLevel.Valid() && slices.Contains(fileTools, tools[i].Spec.Name) {
			tools[i].Flow = d.fileFlow(tools[i].Flow)
		}
	}
	if record.SpawnedBy == "" {
		return tools
	}
	f := l.settings.Load().SubagentTools
	return slices.DeleteFunc(tools, func(t sessions.Tool) bool {
		name := t.Spec.Name
		return name == "sessions_spawn" || t.Flow.Outside() && !starter.Tools.has(name, starter.Sandbox) || policy.NameMatches(f.Deny, name) || (slices.Contains(sessionTools, name) && !policy.NameMatches(f.Allow, name))
	})
}

// fileFlow is the flow of a tool over files that have a level of their own, whatever their session has learnt.
func (d Definition) fileFlow(f sessions.ToolFlow) sessions.ToolFlow {
	f.Reads, f.Source = sessions.FlowOutside, flow.NewLabel(d.FileLevel, flow.Trusted)
	if f.Writes != sessions.FlowNone {
		f.Writes, f.Sink, f.Setting = sessions.FlowOutside, d.FileLevel, "agents.list[].workspaceClassification"
	}
	return f
}

// checkTools refuses a tool that does not say where its data comes from and goes to.
func checkTools(tools []sessions.Tool) error {
	seen := map[string]bool{}
	for _, t := range tools {
		name := t.Spec.Name
		switch {
		case name == "" || t.Spec.Description == "" || t.Run == nil:
			return fmt.Errorf("tool %q: name, description and run are required", name)
		case seen[name]:
			return fmt.Errorf("tool %q: there are two of them", name)
		case t.Flow.Check() != nil:
			return fmt.Errorf("tool %q: %w", name, t.Flow.Check())
		case !json.Valid(t.Spec.Parameters):
			return fmt.Errorf("tool %q: its parameters are no JSON Schema", name)
		}
		seen[name] = true
	}
	return nil
}

type toolFunc func(ctx context.Context, caller sessions.Caller, args json.RawMessage) (sessions.ToolResult, error)

// guarded lets nothing of a tool but its result reach the run: neither a panic nor a call that does not end. Only the operator
// sees what went wrong inside.
func (l *Loop) guarded(name string, run toolFunc) toolFunc {
	return func(ctx context.Context, caller sessions.Caller, args json.RawMessage) (sessions.ToolResult, error) {
		return l.leftovers.do(ctx, name, caller.Run, func() (sessions.ToolResult, error) {
			return l.attempt(ctx, name, run, caller, args)
		})
	}
}

// attempt runs a tool and turns its panic, and what failed inside it, into the failure of its call.
func (l *Loop) attempt(ctx context.Context, name string, run toolFunc, caller sessions.Caller, args json.RawMessage) (result sessions.ToolResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("tool panicked", "tool", name, "run", string(caller.Run), "err", p, "stack", string(debug.Stack()))
			err = errInside
		}
	}()
	result, err = run(ctx, caller, args)
	if inside, ok := errors.AsType[*insideError](err); ok {
		l.log.Error("tool failed", "tool", name, "run", string(caller.Run), "err", inside)
		return sessions.ToolResult{}, errInside
	}
	return result, err
}

// errInside is all that a model learns of a fault that is not its own.
var errInside = errors.New("the tool failed inside; it may work later")

// insideError is a fault that the model's arguments did not cause.
type insideError struct {
	what string
	err  error
}

func inside(what string, err error) error { return &insideError{what, err} }

func (e *insideError) Error() string { return e.what + ": " + e.err.Error() }

func (e *insideError) Unwrap() error { return e.err }

// decodeArgs reads a call's arguments strictly. Its errors name the parameter.
func decodeArgs(args json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: want %s, got a JSON %s", te.Field, jsonType(te.Type.Kind().String()), te.Value)
	}
	if name, ok := strings.CutPrefix(errText(err), "json: unknown field "); ok {
		return fmt.Errorf("%s: unknown parameter", strings.Trim(name, `"`))
	}
	if err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("arguments: more than one JSON value")
	}
	return nil
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// jsonType is what a model calls a Go kind.
func jsonType(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "bool":
		return "true or false"
	case kind == "slice":
		return "an array"
	case kind == "ptr", kind == "struct", kind == "map":
		return "an object"
	}
	return "a " + kind
}

// jsonResult is a tool's result as JSON.
func jsonResult(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", inside("encode result", err)
	}
	return string(text), nil
}
