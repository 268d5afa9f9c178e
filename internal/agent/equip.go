package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/internal/agent/roster"
	"sluice/internal/agent/toolset"
	"sluice/policy/flow"
	"sluice/sessions"
)

// equip gives an opened session what its agent defines: prompt, tools, folder and limits.
func (l *Loop) equip(ctx context.Context, s *sessions.Session, d roster.Definition) error {
	prompt, err := d.Prompt()
	if err != nil {
		return failed(err, "My system prompt can't be read. My owner can see why with `sluice config check`.")
	}
	if name, _, err := sessions.ReadInstructions(d.Workspace); err != nil {
		return failed(err, fmt.Sprintf("My instructions (%s in my workspace) can't be read. My owner needs to fix that file.", cmp.Or(name, "a file")))
	}
	if _, err := sessions.ReadSpine(d.Workspace); err != nil {
		return failed(err, "My memory file ("+sessions.SpineFileName+" in my workspace) can't be read. My owner needs to fix that file.")
	}
	kit, err := l.tools.Kit(ctx, d, s.Record())
	if err != nil {
		return err
	}
	s.SetAgent(sessions.Agent{
		Temperature: d.Temperature, MaxTokens: d.MaxTokens,
		ID: d.ID, Name: d.Name, Prompt: prompt, Workspace: d.Workspace, Thinking: d.Thinking, Verbose: d.Verbose,
		Sandbox: l.sandboxOf(d), Tools: kit.Tools, Specs: kit.Specs,
	})
	if err := s.SetPermission(kit.Permission); err != nil {
		return err
	}
	// If a required sandbox is missing, the session still talks; the tool exec says what is missing.
	if err := s.SetupSandbox(ctx); err != nil && !errors.Is(err, sessions.ErrNoSandbox) {
		return failed(err, "My workspace can't be used. My owner needs to check agents.list[].workspace in the configuration.")
	}
	if lacksExec(d, s.Sandbox()) {
		s.ReplaceTools(isExec, nil)
	}
	return nil
}

// sandboxOf is how the commands of an agent's sessions should run.
func (l *Loop) sandboxOf(d roster.Definition) sessions.SandboxSettings {
	settings := sessions.SandboxSettings{Mode: d.Sandbox}
	if l.sandbox != nil {
		settings.Sandbox = l.sandbox
	}
	return settings
}

// lacksExec reports whether the tool exec would fail each time, so that sessions of the agent do not have it.
func lacksExec(d roster.Definition, box sessions.SandboxConfig) bool {
	return box.Mode == sessions.SandboxOptional && !box.Sandboxed && !d.Tools.OnHost()
}

func isExec(t sessions.Tool) bool { return t.Spec.Name == roster.ExecName }

// ToolsOf gives the tools that a new session of an agent would have, in the order in which models see them, and the agent's
// permission mode. A tool whose source or sink is above the reader's level is left out. ok is false if there is no such agent.
func (l *Loop) ToolsOf(ctx context.Context, agent string, reader flow.Level) (kit toolset.Kit, ok bool, err error) {
	d, ok := l.roster.Definition(agent)
	if !ok {
		return toolset.Kit{}, false, nil
	}
	kit, err = l.tools.Shown(ctx, d, reader)
	if err != nil {
		return toolset.Kit{}, true, err
	}
	box, err := l.sandboxOf(d).Settle(ctx)
	if err != nil && !errors.Is(err, sessions.ErrNoSandbox) {
		return toolset.Kit{}, true, err
	}
	if lacksExec(d, box) {
		kit.Tools = slices.DeleteFunc(kit.Tools, isExec)
	}
	return kit, true, nil
}
