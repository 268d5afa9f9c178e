package roster

import (
	"sluice/internal/workspace"
	"sluice/policy/flow"
	"sluice/sessions"
)

// FileLevel is the level of the files in a session's own folder: that of its agent, else what the session has learned.
func (r *Roster) FileLevel(record sessions.Record) flow.Level {
	if d, _ := r.Definition(record.Agent); d.FileLevel.Valid() {
		return d.FileLevel
	}
	return record.Taint.Level()
}

// Space is where a session's files are, and what it sees of them. It has no folders if its agent has no workspace.
func (r *Roster) Space(record sessions.Record) (workspace.Space, error) {
	own, err := r.Folder(record)
	if err != nil || own == "" {
		return workspace.Space{}, err
	}
	d, _ := r.Definition(record.Agent)
	return workspace.Space{
		Agent: record.Agent, Session: record.ID, Own: own, Shared: workspace.SharedFolder(d.Workspace), Access: record.FileAccess, Level: d.FileLevel,
	}, nil
}

// Folder creates a session's own folder if it is missing, and returns its path; empty if its agent has no workspace.
func (r *Roster) Folder(record sessions.Record) (string, error) {
	d, _ := r.Definition(record.Agent)
	if d.Workspace == "" {
		return "", nil
	}
	return sessions.MakeFolder(d.Workspace, record.ID)
}
