package app

import (
	"errors"

	"sluice/internal/sandbox"
	"sluice/internal/workspace"
	"sluice/router/room"
)

// bounds are what sessions' files may take now.
func (a *App) bounds() workspace.Bounds {
	l := a.limits.Load()
	return workspace.Bounds{Workspace: int64(l.WorkspaceBytes), Session: int64(l.SessionBytes), Reserve: int64(l.ReserveBytes)}
}

// room says whether the disk of the store has room for a file, besides the reserve. The disk of a PostgreSQL server is not in sight of this process.
func (a *App) room(bytes int64) error {
	if a.cfg.Store.URL.Reveal() != "" {
		return nil
	}
	err := a.quota.Reserve(a.cfg.State, bytes)
	if errors.Is(err, workspace.ErrNoSpace) {
		return &room.FullError{Text: err.Error()}
	}
	return err
}

// commandLimits are what a command of the tool exec may use now.
func (a *App) commandLimits() sandbox.Limits {
	l := a.limits.Load()
	return sandbox.Limits{Memory: int64(l.CommandMemory), Processes: l.CommandProcesses}
}
