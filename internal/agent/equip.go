package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"sluice/internal/agent/roster"
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
	agent := sessions.Agent{
		Temperature: d.Temperature, MaxTokens: d.MaxTokens,
		ID: d.ID, Name: d.Name, Prompt: prompt, Workspace: d.Workspace, Thinking: d.Thinking, Verbose: d.Verbose,
		Sandbox: sessions.SandboxSettings{Mode: d.Sandbox}, Tools: kit.Tools, Specs: kit.Specs,
	}
	if l.sandbox != nil {
		agent.Sandbox.Sandbox = l.sandbox
	}
	s.SetAgent(agent)
	if err := s.SetPermission(kit.Permission); err != nil {
		return err
	}
	// If a required sandbox is missing, the session still talks; the tool exec says what is missing.
	if err := s.SetupSandbox(ctx); err != nil && !errors.Is(err, sessions.ErrNoSandbox) {
		return failed(err, "My workspace can't be used. My owner needs to check agents.list[].workspace in the configuration.")
	}
	if box := s.Sandbox(); box.Mode == sessions.SandboxOptional && !box.Sandboxed && !d.Tools.OnHost() { // exec would fail each time
		s.ReplaceTools(func(t sessions.Tool) bool { return t.Spec.Name == roster.ExecName }, nil)
	}
	return nil
}
