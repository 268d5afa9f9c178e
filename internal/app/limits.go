package app

import (
	"sluice/internal/sandbox"
	"sluice/internal/workspace"
)

// bounds are what sessions' files may take now.
func (a *App) bounds() workspace.Bounds {
	l := a.limits.Load()
	return workspace.Bounds{Workspace: int64(l.WorkspaceBytes), Session: int64(l.SessionBytes), Reserve: int64(l.ReserveBytes)}
}

// commandLimits are what a command of the tool exec may use now.
func (a *App) commandLimits() sandbox.Limits {
	l := a.limits.Load()
	return sandbox.Limits{Memory: int64(l.CommandMemory), Processes: l.CommandProcesses}
}
