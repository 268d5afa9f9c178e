package files

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	return ts.command(ctx, caller, runner, Script{Command: []string{"sh", "-c", args.Command}, Stdin: args.Stdin, Seconds: seconds, Label: flow.Bottom()})
}

// Script is a program that runs in the workspace, with a folder from outside of it.
type Script struct {
	Command []string
	Stdin   string
	Seconds int
	Folder  string     // an absolute path; empty for none
	At      string     // where the program sees the folder; an absolute path
	Label   flow.Label // of the folder
}

// RunScript runs a program in the sandbox, or not at all.
func (ts *Tools) RunScript(ctx context.Context, caller sessions.Caller, s Script) (sessions.ToolResult, error) {
	if len(s.Stdin) > commandMax {
		return sessions.ToolResult{}, fmt.Errorf("stdin: is %d bytes, the maximum is %d", len(s.Stdin), commandMax)
	}
	missing := errors.New("this gateway has none")
	if ts.Sandbox != nil {
		missing = ts.Sandbox.Available(ctx)
	}
	if missing != nil {
		ts.Log.Warn("script not run: there is no sandbox", "agent", caller.Agent, "run", string(caller.Run), "err", missing)
		return sessions.ToolResult{}, errors.New("scripts of skills run in a sandbox only, and this machine has none: its owner can install bubblewrap (apt-get install bubblewrap), and sluice doctor says whether it works")
	}
	return ts.command(ctx, caller, ts.Sandbox, s)
}

// command runs a program in the workspace of a session.
func (ts *Tools) command(ctx context.Context, caller sessions.Caller, runner runner, s Script) (sessions.ToolResult, error) {
	files, err := ts.Open(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	defer files.Close() //nolint:errcheck // nothing is written through it
	view, err := files.View(ctx, caller.Taint.Join(s.Label))
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("open files", err)
	}
	defer view.Close()
	config := sandbox.Config{
		Network: caller.Sandbox.Network, Stdin: s.Stdin, Home: files.OwnFolder(),
		Timeout: time.Duration(s.Seconds) * time.Second, Output: execOutput, Limits: ts.Limits(), Groups: ts.Groups, Session: string(caller.Session),
	}
	_, host := runner.(sandbox.Host)
	if host {
		if config.Workspace, err = files.Folder(); err != nil {
			return sessions.ToolResult{}, err
		}
	}
	for _, m := range view.Mounts {
		config.Mounts = append(config.Mounts, sandbox.Mount{File: m.File, At: m.At, Write: m.Write})
	}
	if s.Folder != "" {
		folder, err := os.Open(s.Folder)
		if err != nil {
			return sessions.ToolResult{}, tools.Inside("open folder of script", err)
		}
		defer folder.Close() //nolint:errcheck // nothing is written through it
		config.Mounts = append(config.Mounts, sandbox.Mount{File: folder, At: s.At})
	}
	watched, err := ts.watch(ctx, view.Folders)
	defer watched.end()
	if errors.Is(err, workspace.ErrNoSpace) {
		return sessions.ToolResult{}, fmt.Errorf("not run: %w", err)
	}
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("measure files", err)
	}
	config.Check, config.Limits.FileSize = watched.check, watched.room()
	result, err := runner.Run(ctx, config, s.Command...)
	read, unread := view.Ended(context.WithoutCancel(ctx))
	if err = errors.Join(err, unread); err != nil {
		return sessions.ToolResult{}, tools.Inside("run command", err)
	}
	label := caller.Taint.Join(read).Join(s.Label)
	if host || config.Network { // its output may come from anywhere
		label = label.Join(flow.NewLabel(flow.Public, flow.Untrusted))
	}
	return execResult(label, result)
}

// watched are the folders that a command writes to.
type watched []*workspace.Watch

func (ts *Tools) watch(ctx context.Context, folders []string) (all watched, err error) {
	for _, folder := range folders {
		w, err := ts.Files.Quota.Watch(ctx, folder)
		if err != nil {
			return all, err
		}
		all = append(all, w)
	}
	return all, nil
}

func (all watched) check(ctx context.Context) error {
	for _, w := range all {
		if err := w.Check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// room is how large a file may become: as large as the folder with the most room takes.
func (all watched) room() (most int64) {
	for _, w := range all {
		most = max(most, w.Room())
	}
	return most
}

func (all watched) end() {
	for _, w := range all {
		w.End()
	}
}

// execResult is the result of a command.
func execResult(label flow.Label, r sandbox.Result) (sessions.ToolResult, error) {
	answer := map[string]any{"exitCode": r.ExitCode, "stdout": r.Stdout, "stderr": r.Stderr, "timedOut": r.TimedOut, "truncated": r.Truncated}
	if r.Stopped != "" {
		answer["stopped"] = "the command was ended: " + r.Stopped
	}
	text, err := tools.JSON(answer)
	return sessions.ToolResult{Text: text, Label: label, Failed: r.Stopped != ""}, err
}

// runner chooses how the caller's commands run, or says what is missing.
func (ts *Tools) runner(ctx context.Context, caller sessions.Caller) (runner, error) {
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
	switch {
	case d.Tools.OnHost() && (mode == sessions.SandboxOff || mode == sessions.SandboxOptional):
		return sandbox.Host{}, nil
	case missing != nil:
		ts.Log.Warn("command not run: there is no sandbox", "agent", caller.Agent, "run", string(caller.Run), "err", missing)
		return nil, errors.New("commands of this agent need a sandbox, and this machine has none: its owner can install bubblewrap (apt-get install bubblewrap), and sluice doctor says whether it works")
	}
	return nil, errors.New("this agent may not run commands: its owner has not allowed it")
}
