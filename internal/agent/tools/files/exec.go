package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/internal/agent/roster"
	"sluice/internal/agent/tools"
	"sluice/internal/sandbox"
	"sluice/internal/workspace"
	"sluice/policy/flow"
	"sluice/sessions"
)

const (
	execDefault, execMax = 60, 120 // seconds
	// execOutput is how much of stdout, and of stderr, is shown, in bytes.
	execOutput = 64 << 10
	// commandMax is the length of a command and of its input, in bytes, at most.
	commandMax = 128 << 10
	// execTimeout leaves time for a killed command to end.
	execTimeout = (execMax + 10) * time.Second
)

type execArgs struct {
	Command string `json:"command" jsonschema:"run with sh -c in the workspace"`
	Timeout *int   `json:"timeoutSeconds,omitempty" jsonschema:"default 60" bounds:"minimum=1,maximum=120"`
	Stdin   string `json:"stdin,omitempty" jsonschema:"the standard input of the command"`
}

func (ts *Tools) execTool() sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{
			Name:        roster.ExecName,
			Description: "Runs a shell command in the workspace and returns its output. The command's background processes end with the command.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowSession}, Timeout: execTimeout,
	}, tools.Work[execArgs]{Run: ts.exec})
}

// Sandbox runs commands isolated from the machine. It is called from many goroutines.
type Sandbox interface {
	sessions.Sandbox
	// Run runs a program to its end, see [sandbox.Bubblewrap].
	Run(ctx context.Context, c sandbox.Config, command ...string) (sandbox.Result, error)
}

var _ Sandbox = (*sandbox.Bubblewrap)(nil)

// runner is what runs commands.
type runner interface {
	Run(ctx context.Context, c sandbox.Config, command ...string) (sandbox.Result, error)
}

func (ts *Tools) exec(ctx context.Context, call tools.Call[execArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	seconds := execDefault
	if args.Timeout != nil {
		seconds = *args.Timeout
	}
	switch {
	case args.Command == "":
		return sessions.ToolResult{}, errors.New("command: is required")
	case len(args.Command) > commandMax:
		return sessions.ToolResult{}, fmt.Errorf("command: is %d bytes, the maximum is %d", len(args.Command), commandMax)
	case len(args.Stdin) > commandMax:
		return sessions.ToolResult{}, fmt.Errorf("stdin: is %d bytes, the maximum is %d", len(args.Stdin), commandMax)
	}
	runner, err := ts.runner(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	watch, err := ts.Quota.Watch(ctx, caller.Sandbox.Workspace)
	if errors.Is(err, workspace.ErrNoSpace) {
		return sessions.ToolResult{}, fmt.Errorf("not run: %w", err)
	}
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("measure files", err)
	}
	defer watch.End()
	config := sandbox.Config{
		Workspace: caller.Sandbox.Workspace, Network: caller.Sandbox.Network, Stdin: args.Stdin,
		Timeout: time.Duration(seconds) * time.Second, Output: execOutput, Limits: ts.Limits(), Check: watch.Check,
	}
	config.Limits.FileSize = watch.Room()
	result, err := runner.Run(ctx, config, "sh", "-c", args.Command)
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("run command", err)
	}
	_, host := runner.(sandbox.Host)
	return execResult(caller, result, host || config.Network)
}

// execResult is the result of a command. The output of a command with network access may come from anywhere.
func execResult(caller sessions.Caller, r sandbox.Result, world bool) (sessions.ToolResult, error) {
	answer := map[string]any{"exitCode": r.ExitCode, "stdout": r.Stdout, "stderr": r.Stderr, "timedOut": r.TimedOut, "truncated": r.Truncated}
	if r.Stopped != "" {
		answer["stopped"] = "the command was ended: " + r.Stopped
	}
	text, err := tools.JSON(answer)
	label := caller.Taint
	if world {
		label = label.Join(flow.NewLabel(flow.Public, flow.Untrusted))
	}
	return sessions.ToolResult{Text: text, Label: label, Failed: r.Stopped != ""}, err
}

// runner chooses how the caller's commands run, or says what is missing.
func (ts *Tools) runner(ctx context.Context, caller sessions.Caller) (runner, error) {
	files, err := ts.files(ctx, caller)
	if err != nil {
		return nil, err
	}
	defer files.Close() //nolint:errcheck // only looked at
	if !files.All() {
		return nil, errors.New("commands reach the whole workspace, and this conversation may use only parts of it: use read, write and edit")
	}
	d, _ := ts.Roster.Definition(caller.Agent)
	mode := caller.Sandbox.Mode
	missing := error(nil)
	if roster.Sandboxed(mode) {
		if missing = errors.New("this gateway has none"); ts.Sandbox != nil {
			missing = ts.Sandbox.Available(ctx) // it may have been installed since
		}
		if missing == nil {
			return ts.Sandbox, nil
		}
	}
	switch named := slices.Contains(d.Tools.Allow, roster.ExecName); {
	case mode == sessions.SandboxOff && named, mode == sessions.SandboxOptional && named:
		return sandbox.Host{}, nil
	case missing != nil:
		ts.Log.Warn("command not run: there is no sandbox", "agent", caller.Agent, "run", string(caller.Run), "err", missing)
		return nil, errors.New("commands of this agent need a sandbox, and this machine has none: its owner can install bubblewrap (apt-get install bubblewrap), and sluice doctor says whether it works")
	}
	return nil, errors.New("this agent may not run commands: its owner has not allowed it")
}
