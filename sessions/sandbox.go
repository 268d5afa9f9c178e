package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrNoSandbox: the session's commands must run in a sandbox, and no sandbox is available.
var ErrNoSandbox = errors.New("a sandbox is required and not available")

// SetupSandbox makes the session's folder in the agent's workspace, which only an agent
// without a sandbox may be without, and settles how commands of its tools run there. Tools find it in [Caller]. A required sandbox that
// is not available is [ErrNoSandbox]: the session has its folder then, and may run no
// commands; an optional one is left out, and [SandboxConfig] says so. It has to be called before the first tool that runs commands is.
func (s *Session) SetupSandbox(ctx context.Context) error {
	s.mu.Lock()
	agent, id := s.agent, s.record.ID
	s.mu.Unlock()
	config, missing := settleSandbox(ctx, agent.Sandbox)
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

func settleSandbox(ctx context.Context, want SandboxSettings) (SandboxConfig, error) {
	mode := want.Mode
	if mode == "" {
		mode = SandboxOff
	}
	if _, err := ParseSandboxMode(string(mode)); err != nil {
		return SandboxConfig{}, err
	}
	config := SandboxConfig{Mode: mode, Network: want.Network}
	if mode == SandboxOff {
		return config, nil
	}
	missing := errors.New("this gateway has none")
	if want.Sandbox != nil {
		missing = want.Sandbox.Available(ctx)
	}
	switch {
	case missing == nil:
		config.Sandboxed = true
	case mode == SandboxRequired:
		config.Fallback = missing.Error()
		return config, fmt.Errorf("%w: %w", ErrNoSandbox, missing)
	default:
		config.Fallback = missing.Error()
	}
	return config, nil
}

// MakeFolder makes the folder of a session in its agent's workspace, an absolute path, where it is missing. It never leaves the workspace, whatever was put in its place.
func MakeFolder(workspace string, id ID) (string, error) {
	if !filepath.IsAbs(workspace) {
		return "", fmt.Errorf("workspace %q: want an absolute path", workspace)
	}
	if _, err := ParseID(string(id)); err != nil {
		return "", err // it becomes a part of a path
	}
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		return "", fmt.Errorf("make workspace: %w", err)
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return "", fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close() //nolint:errcheck // nothing is written through it any more
	folder := filepath.Join("sessions", string(id))
	if err := root.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make folder of session: %w", err)
	}
	info, err := root.Lstat(folder)
	if err != nil {
		return "", fmt.Errorf("make folder of session: %w", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("make folder of session: %s is not a folder", folder)
	}
	return filepath.Join(workspace, folder), nil
}
