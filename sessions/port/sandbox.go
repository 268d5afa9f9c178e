package port

import (
	"context"
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

// SandboxConfig is how the commands of one session are run. Its zero value says that
// SetupSandbox was not called: then none may run.
type SandboxConfig struct {
	Mode      SandboxMode
	Sandboxed bool   // commands run in the sandbox
	Workspace string // the session's own folder, an absolute path, empty where its agent has none; the only one that a sandboxed command can write to
	Network   bool   // a sandboxed command reaches the network
	Fallback  string // why there is no sandbox though one is wanted; to be shown to the operator
}
