package sessions

import (
	"context"
	"errors"
	"fmt"
)

// SetupSandbox makes the session's folder in the agent's workspace, and decides how commands of its tools run there. Tools
// find the result in [Caller]. Only an agent without a sandbox may lack a workspace. If a required sandbox is not available,
// the error is [ErrNoSandbox]: the session then has its folder and may not run commands. If an optional one is not
// available, commands run without it, as [SandboxConfig] shows. Call SetupSandbox before any tool that runs commands.
func (s *Session) SetupSandbox(ctx context.Context) error {
	s.mu.Lock()
	agent, id := s.agent, s.record.ID
	s.mu.Unlock()
	config, missing := agent.Sandbox.Settle(ctx)
	if missing != nil && !errors.Is(missing, ErrNoSandbox) {
		return fmt.Errorf("set up sandbox: %w", missing)
	}
	if agent.Workspace != "" || config.Mode != SandboxOff {
		var err error
		if config.Workspace, err = MakeFolder(agent.Workspace, id); err != nil {
			return fmt.Errorf("set up sandbox: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sandbox = config
	if missing != nil {
		return fmt.Errorf("set up sandbox: %w", missing)
	}
	return nil
}

// Sandbox is what SetupSandbox has settled.
func (s *Session) Sandbox() SandboxConfig {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sandbox
}
