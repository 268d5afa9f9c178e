package files

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sluice/internal/agent/tools"
	"sluice/policy/flow"
	"sluice/sessions"
)

// writeMax is how much one call writes, in bytes.
const writeMax = 256 << 10

type writeArgs struct {
	Path    string `json:"path" jsonschema:"relative to the workspace"`
	Content string `json:"content" jsonschema:"the whole text, at most 256 KiB"`
}

type editArgs struct {
	Path string `json:"path" jsonschema:"relative to the workspace"`
	Old  string `json:"oldText" jsonschema:"the exact text to replace, with enough context to occur only once" bounds:"minLength=1"`
	New  string `json:"newText" jsonschema:"the new text; empty to delete the old one"`
}

func (ts *Tools) writeFile(ctx context.Context, call tools.Call[writeArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	switch {
	case args.Path == "":
		return sessions.ToolResult{}, errors.New("path: is required")
	case len(args.Content) > writeMax:
		return sessions.ToolResult{}, fmt.Errorf("content: is %d bytes, the maximum is %d", len(args.Content), writeMax)
	}
	return ts.writeText(ctx, caller, args.Path, func(string) (string, error) { return args.Content, nil }, false)
}

func (ts *Tools) editFile(ctx context.Context, call tools.Call[editArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	switch {
	case args.Path == "":
		return sessions.ToolResult{}, errors.New("path: is required")
	case args.Old == args.New:
		return sessions.ToolResult{}, errors.New("newText: is the same as oldText")
	case len(args.New) > writeMax:
		return sessions.ToolResult{}, fmt.Errorf("newText: is %d bytes, the maximum is %d", len(args.New), writeMax)
	}
	return ts.writeText(ctx, caller, args.Path, func(there string) (string, error) {
		switch n := strings.Count(there, args.Old); n {
		case 1:
			return strings.Replace(there, args.Old, args.New, 1), nil
		case 0:
			return "", errors.New("oldText: is not in the file; read shows it as it is")
		default:
			return "", fmt.Errorf("oldText: occurs %d times in the file, want once: include more of the surrounding text", n)
		}
	}, true)
}

// writeText stores the result of change on a file's text; on an empty text if the file may be new.
func (ts *Tools) writeText(ctx context.Context, caller sessions.Caller, path string, change func(there string) (string, error), mustBe bool) (sessions.ToolResult, error) {
	files, err := ts.Open(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	defer files.Close() //nolint:errcheck // each write is closed by itself
	there, label := "", caller.Taint
	if mustBe {
		var read flow.Label
		if there, read, err = text(ctx, files, path); err != nil {
			return sessions.ToolResult{}, err
		}
		label = label.Join(read)
	}
	content, err := change(there)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	made, err := files.Write(ctx, path, []byte(content), label)
	if err != nil {
		return sessions.ToolResult{}, pathError(path, err)
	}
	result, err := tools.JSON(map[string]any{"path": path, "bytes": len(content), "created": made})
	return sessions.ToolResult{Text: result, Label: label}, err
}
