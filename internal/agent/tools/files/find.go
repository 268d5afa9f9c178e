package files

import (
	"context"
	"encoding/json"
	"fmt"

	"sluice/internal/agent/tools"
	"sluice/internal/workspace"
	"sluice/sessions"
)

const findSchema = `{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{
"pattern":{"type":"string","description":"such as *.go or src/**/*.{ts,tsx}; without a slash it matches file names"},
"path":{"type":"string","description":"a folder of the workspace; default: all of it"}}}`

func (ts *Tools) findFiles(ctx context.Context, caller sessions.Caller, raw json.RawMessage) (sessions.ToolResult, error) {
	var args struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path"`
	}
	if err := tools.DecodeArgs(raw, &args); err != nil {
		return sessions.ToolResult{}, err
	}
	glob, err := workspace.ParseGlob(args.Pattern)
	if err != nil {
		return sessions.ToolResult{}, fmt.Errorf("pattern: %w", err)
	}
	files, err := ts.files(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	defer files.Close() //nolint:errcheck // only read from
	var found []workspace.Entry
	more := false
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
	if err != nil {
		return sessions.ToolResult{}, pathError(args.Path, err)
	}
	return entriesResult(caller, found, more || !whole)
}
