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
	Files   *workspace.Opener
	Sandbox Sandbox               // runs the commands; may be nil
	Limits  func() sandbox.Limits // of a command, as configured now
	Groups  *sandbox.Groups       // limit the commands of a session together; nil: each is limited by itself
	Log     *slog.Logger
}

// Open opens the files of the calling session with its current file access.
func (ts *Tools) Open(ctx context.Context, caller sessions.Caller) (*workspace.Files, error) {
	record, err := ts.Store.Session(ctx, caller.Session)
	if err != nil {
		return nil, tools.Inside("read session", err)
	}
	space, err := ts.Roster.Space(record)
	if err != nil {
		return nil, tools.Inside("open files", err)
	}
	if space.Own == "" {
		return nil, errors.New("this conversation has no files")
	}
	files, err := ts.Files.Open(space)
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
