package files

import (
	"context"
	"fmt"

	"sluice/internal/agent/tools"
	"sluice/internal/workspace"
	"sluice/sessions"
)

type findArgs struct {
	Pattern string `json:"pattern" jsonschema:"such as *.go or src/**/*.{ts,tsx}; without a slash it matches file names"`
	Path    string `json:"path,omitempty" jsonschema:"a folder of the workspace; default: all of it"`
}

func (ts *Tools) findFiles(ctx context.Context, call tools.Call[findArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	glob, err := workspace.ParseGlob(args.Pattern)
	if err != nil {
		return sessions.ToolResult{}, fmt.Errorf("pattern: %w", err)
	}
	files, err := ts.Open(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	defer files.Close() //nolint:errcheck // only read from
	var found []workspace.Entry
	more := false
	label, err := files.Reading(ctx, args.Path, func() error {
		whole, err := files.Walk(ctx, args.Path, func(e workspace.Entry, _ func() ([]byte, error)) bool {
			switch {
			case !glob.Match(e.Path):
			case len(found) == workspace.EntriesMax:
				more = true
			default:
				found = append(found, e)
			}
			return !more
		})
		more = more || !whole
		return err
	})
	if err != nil {
		return sessions.ToolResult{}, pathError(args.Path, err)
	}
	return entriesResult(caller.Taint.Join(label), found, more)
}
