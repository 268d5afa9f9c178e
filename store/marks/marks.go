// Package marks remembers which of the files that an agent's sessions share may contain untrusted text.
package marks

import (
	"context"
	"fmt"

	"sluice/store/engine"
)

const (
	// whole stands for all shared files of an agent.
	whole = "."
	// filesMax is the number of marks of an agent; with one more, all of its files are marked.
	filesMax = 1000
)

const (
	markFile   = `INSERT INTO file_marks (agent, path) VALUES (?, ?) ON CONFLICT (agent, path) DO NOTHING`
	unmarkFile = `DELETE FROM file_marks WHERE agent = ? AND path = ?`
	countFiles = `SELECT COUNT(*) FROM file_marks WHERE agent = ?`
	// fileMarked has the path itself, the folders that it lies in, and what is below it.
	fileMarked = `SELECT COUNT(*) FROM file_marks WHERE agent = ? AND (path = '` + whole + `' OR path = ? OR substr(?, 1, length(path) + 1) = path || '/' OR substr(path, 1, ?) = ?)`
)

// Table has the marks. It implements [workspace.Marks].
type Table struct{ *engine.Conn }

// MarkFile marks a file or folder of an agent.
func (db Table) MarkFile(ctx context.Context, agent, path string) error {
	marked, err := db.FileMarked(ctx, agent, path, false)
	if err != nil || marked {
		return err
	}
	n, err := db.count(ctx, countFiles, agent)
	if err != nil {
		return err
	}
	if n >= filesMax {
		path = whole
	}
	if err := db.Change(ctx, engine.Write{{SQL: markFile, Args: []any{agent, path}}}); err != nil {
		return fmt.Errorf("mark file: %w", err)
	}
	return nil
}

// UnmarkFile takes the mark of a file away. A mark of the folder that it lies in stays.
func (db Table) UnmarkFile(ctx context.Context, agent, path string) error {
	if marked, err := db.FileMarked(ctx, agent, path, false); err != nil || !marked {
		return err
	}
	if err := db.Change(ctx, engine.Write{{SQL: unmarkFile, Args: []any{agent, path}}}); err != nil {
		return fmt.Errorf("unmark file: %w", err)
	}
	return nil
}

// FileMarked reports whether a path is marked, or a folder that it lies in; with below, also whether anything below it is.
func (db Table) FileMarked(ctx context.Context, agent, path string, below bool) (bool, error) {
	inside := path + "/"
	switch {
	case !below:
		inside = "\n/" // nothing is called so
	case path == whole:
		inside = ""
	}
	n, err := db.count(ctx, fileMarked, agent, path, path, len([]rune(inside)), inside)
	return n > 0, err
}

func (db Table) count(ctx context.Context, query string, args ...any) (int, error) {
	found, err := engine.All(ctx, db.Conn, query, args, func(row engine.Row) (n int, err error) { err = row.Scan(&n); return n, err })
	if err != nil || len(found) == 0 {
		return 0, err
	}
	return found[0], nil
}
