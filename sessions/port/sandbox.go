package port

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// SandboxMode says whether commands of a session's tools run in a sandbox.
type SandboxMode string

// The sandbox modes.
const (
	SandboxOff      SandboxMode = "off"      // they run as the gateway does
	SandboxOptional SandboxMode = "optional" // in a sandbox where that is possible, else as the gateway does, which is said
	SandboxRequired SandboxMode = "required" // in a sandbox or not at all
)

// ParseSandboxMode reads a mode; any other text is an error.
func ParseSandboxMode(s string) (SandboxMode, error) {
	modes := []SandboxMode{SandboxOff, SandboxOptional, SandboxRequired}
	if mode := SandboxMode(s); slices.Contains(modes, mode) {
		return mode, nil
	}
	return "", fmt.Errorf("sandbox mode %q: want one of %v", s, modes)
}

// Sandbox is what runs commands apart from the machine. It is asked whether it can.
type Sandbox interface {
	// Available returns nil if commands can be run in it here and now, else why not.
	Available(ctx context.Context) error
}

// SandboxSettings is what an agent says about the commands of its sessions.
type SandboxSettings struct {
	Mode    SandboxMode // empty is SandboxOff
	Network bool        // commands reach the network
	Sandbox Sandbox     // nil is one that is never available
}

// ErrNoSandbox: the session's commands must run in a sandbox, and no sandbox is available.
var ErrNoSandbox = errors.New("a sandbox is required and not available")

// Settle decides how commands are run here and now. A required sandbox that is not available is [ErrNoSandbox], beside the
// configuration of a session that runs no commands.
func (s SandboxSettings) Settle(ctx context.Context) (SandboxConfig, error) {
	mode := s.Mode
	if mode == "" {
		mode = SandboxOff
	}
	if _, err := ParseSandboxMode(string(mode)); err != nil {
		return SandboxConfig{}, err
	}
	config := SandboxConfig{Mode: mode, Network: s.Network}
	if mode == SandboxOff {
		return config, nil
	}
	missing := errors.New("this gateway has none")
	if s.Sandbox != nil {
		missing = s.Sandbox.Available(ctx)
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

// SandboxConfig is how the commands of one session are run. Its zero value says that
// SetupSandbox was not called: then none may run.
type SandboxConfig struct {
	Mode      SandboxMode
	Sandboxed bool   // commands run in the sandbox
	Workspace string // the session's own folder, an absolute path; empty if its agent has no workspace
	Network   bool   // a sandboxed command reaches the network
	Fallback  string // why there is no sandbox though one is wanted; to be shown to the operator
}
