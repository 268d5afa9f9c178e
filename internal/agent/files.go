package agent

import (
	"context"
	"errors"
	"fmt"

	"sluice/internal/workspace"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// files opens the files of the calling session, within its present file access.
func (l *Loop) files(ctx context.Context, caller sessions.Caller) (*workspace.Files, error) {
	record, err := l.store.Session(ctx, caller.Session)
	if err != nil {
		return nil, inside("read session", err)
	}
	if caller.Sandbox.Workspace == "" {
		return nil, errors.New("this conversation has no files")
	}
	quota := l.quota
	if policy.CheckSpace.Skipped() {
		quota = nil
	}
	files, err := workspace.Open(caller.Sandbox.Workspace, record.FileAccess, quota)
	if err != nil {
		return nil, inside("open files", err)
	}
	return files, nil
}

// pathError says why the parameter path can't be used.
func pathError(path string, err error) error {
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return fmt.Errorf("path: there is no %q here; list shows what there is", path)
	case errors.Is(err, workspace.ErrFolder):
		return fmt.Errorf("path: %q is a folder, want a file", path)
	}
	return fmt.Errorf("path: %q: %w", path, err)
}

// FileLevel is the level of a session's files: that of its agent, else what the session has learnt.
func (l *Loop) FileLevel(record sessions.Record) flow.Level {
	if d, _ := l.definition(record.Agent); d.FileLevel.Valid() {
		return d.FileLevel
	}
	return record.Taint.Level()
}

// Folder is the folder of a session's files, which is made where it is missing; empty where its agent has none.
func (l *Loop) Folder(record sessions.Record) (string, error) {
	d, _ := l.definition(record.Agent)
	if d.Workspace == "" {
		return "", nil
	}
	return sessions.MakeFolder(d.Workspace, record.ID)
}
