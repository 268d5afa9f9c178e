package agent

import (
	"sluice/policy/flow"
	"sluice/sessions"
)

// FileLevel is the level of a session's files: that of its agent, else what the session has learnt.
func (l *Loop) FileLevel(record sessions.Record) flow.Level {
	if d, _ := l.roster.Definition(record.Agent); d.FileLevel.Valid() {
		return d.FileLevel
	}
	return record.Taint.Level()
}

// Folder is the folder of a session's files, which is created if necessary; empty if its agent has no files.
func (l *Loop) Folder(record sessions.Record) (string, error) {
	d, _ := l.roster.Definition(record.Agent)
	if d.Workspace == "" {
		return "", nil
	}
	return sessions.MakeFolder(d.Workspace, record.ID)
}
