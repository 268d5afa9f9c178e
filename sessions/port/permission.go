package port

import (
	"fmt"
	"slices"
)

// PermissionMode says which tool calls run without being asked about.
type PermissionMode string

// The permission modes, strictest first. A tool that only reads ([Tool.ReadOnly]) runs in each of them.
const (
	// PermissionDeny runs only tools that read; all other calls are refused, confirmed or not.
	PermissionDeny PermissionMode = "deny"
	// PermissionAsk needs a confirmation for each call of a tool that does more than read. It is the mode of a new session.
	PermissionAsk PermissionMode = "ask"
	// PermissionAuto approves every call that no confirmation refuses.
	PermissionAuto PermissionMode = "auto"
)

func permissionModes() []PermissionMode {
	return []PermissionMode{PermissionDeny, PermissionAsk, PermissionAuto}
}

// ParsePermissionMode reads a mode; any other text is an error.
func ParsePermissionMode(s string) (PermissionMode, error) {
	if mode := PermissionMode(s); slices.Contains(permissionModes(), mode) {
		return mode, nil
	}
	return "", fmt.Errorf("permission mode %q: want one of %v", s, permissionModes())
}

// Narrow is the stricter of two modes. One that is unknown counts as the strictest, an empty one as the other.
func (p PermissionMode) Narrow(q PermissionMode) PermissionMode {
	switch {
	case q == "":
		return p
	case p == "":
		return q
	}
	modes := permissionModes()
	return modes[max(0, min(slices.Index(modes, p), slices.Index(modes, q)))]
}

// Ruling is what the mode says of a call of a tool that nobody has decided about.
func (p PermissionMode) Ruling(tool Tool) Ruling {
	switch {
	case tool.ReadOnly() || p == PermissionAuto:
		return RulingRun
	case p == PermissionAsk:
		return RulingAsk
	}
	return RulingRefuse
}
