// Package files has the tools over the files of a session: read, list, find, grep, write, edit and exec.
//
// Each call opens the files with the file access that the session has at that moment. Searches, results and
// commands are bounded, and say where they stopped.
package files

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"sluice/internal/agent/roster"
	"sluice/internal/agent/tools"
	"sluice/internal/sandbox"
	"sluice/internal/workspace"
	"sluice/policy"
	"sluice/sessions"
)

// Sessions reads a session by its id.
type fileSessions interface {
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
}

// Tools are the tools over the files of a session.
type Tools struct {
	Store   fileSessions
	Roster  *roster.Roster
	Quota   *workspace.Quota      // limits the files; nil: no limit
	Marks   workspace.Marks       // of shared files; nil: there are none
	Sandbox Sandbox               // runs the commands; may be nil
	Limits  func() sandbox.Limits // of a command, as configured now
	Log     *slog.Logger
}

// Open opens the files of the calling session with its current file access.
func (ts *Tools) Open(ctx context.Context, caller sessions.Caller) (*workspace.Files, error) {
	record, err := ts.Store.Session(ctx, caller.Session)
	if err != nil {
		return nil, tools.Inside("read session", err)
	}
	if caller.Sandbox.Workspace == "" {
		return nil, errors.New("this conversation has no files")
	}
	quota := ts.Quota
	if policy.CheckSpace.Skipped() {
		quota = nil
	}
	d, _ := ts.Roster.Definition(caller.Agent)
	files, err := workspace.Open(workspace.Space{
		Agent: caller.Agent, Session: caller.Session, Own: caller.Sandbox.Workspace, Shared: workspace.SharedFolder(caller.Sandbox.Agent),
		Access: record.FileAccess, Level: d.FileLevel,
	}, quota, ts.Marks)
	if err != nil {
		return nil, tools.Inside("open files", err)
	}
	return files, nil
}

// pathError says why the parameter path can't be used.
func pathError(path string, err error) error {
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return fmt.Errorf("path: %q does not exist; use list to see the files", path)
	case errors.Is(err, workspace.ErrFolder):
		return fmt.Errorf("path: %q is a folder, want a file", path)
	}
	if down, ok := errors.AsType[*workspace.WriteDownError](err); ok {
		return fmt.Errorf("path: %q: %w", path, down)
	}
	return fmt.Errorf("path: %q: %w", path, err)
}
