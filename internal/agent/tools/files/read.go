package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"sluice/internal/agent/tools"
	"sluice/internal/workspace"
	"sluice/policy/flow"
	"sluice/sessions"
)

// readMax is how much of a file one call shows, in bytes.
const readMax = 256 << 10

type readArgs struct {
	Path   string `json:"path" jsonschema:"relative to the workspace"`
	Offset *int   `json:"offset,omitempty" jsonschema:"first line, from 1; default 1" bounds:"minimum=1"`
	Limit  *int   `json:"limit,omitempty" jsonschema:"lines; default: as many as fit into 256 KiB" bounds:"minimum=1"`
}

type listArgs struct {
	Path string `json:"path,omitempty" jsonschema:"a folder of the workspace; default: all of it"`
}

// fileTool is a tool over the session's files. A read-only tool is safe to repeat.
func fileTool[A any](name, about string, writes sessions.FlowEnd, run func(context.Context, tools.Call[A]) (sessions.ToolResult, error)) sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{Name: name, Description: about},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: writes}, Idempotent: writes == sessions.FlowNone,
	}, tools.Work[A]{Run: run})
}

// All gives the tools.
func (ts *Tools) All() []sessions.Tool {
	none, session := sessions.FlowNone, sessions.FlowSession
	return []sessions.Tool{
		fileTool("read", "Reads a text file of the workspace, or some of its lines.", none, ts.readFile),
		fileTool("list", "Lists a folder of the workspace.", none, ts.listFiles),
		fileTool("find", "Finds files of the workspace whose paths match a pattern.", none, ts.findFiles),
		fileTool("grep", "Finds lines that match a regular expression (RE2) in text files of the workspace.", none, ts.grepFiles),
		fileTool("write", "Creates or replaces a text file in the workspace. Creates folders as needed.", session, ts.writeFile),
		fileTool("edit", "Replaces a passage in a text file of the workspace. The passage must occur exactly once.", session, ts.editFile),
		ts.execTool(),
	}
}

// text reads a file as text.
func text(ctx context.Context, files *workspace.Files, path string) (text string, label flow.Label, err error) {
	if path == "" {
		return "", label, errors.New("path: is required")
	}
	var content []byte
	label, err = files.Reading(ctx, path, func() error {
		content, err = files.Read(path)
		return err
	})
	if err != nil {
		return "", label, pathError(path, err)
	}
	if binary(content) {
		return "", label, fmt.Errorf("path: %q is binary (%d bytes), only text can be read", path, len(content))
	}
	return string(content), label, nil
}

func binary(content []byte) bool { return bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content) }

func (ts *Tools) readFile(ctx context.Context, call tools.Call[readArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	offset, limit := 1, 1<<30
	if args.Offset != nil {
		offset = *args.Offset
	}
	if args.Limit != nil {
		limit = *args.Limit
	}
	files, err := ts.Open(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	defer files.Close() //nolint:errcheck // only read from
	content, label, err := text(ctx, files, args.Path)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	shown, err := lines(content, offset, limit)
	return sessions.ToolResult{Text: shown, Label: caller.Taint.Join(label)}, err
}

// lines cuts lines out of a text, and adds a note about the rest.
func lines(content string, offset, limit int) (string, error) {
	total := strings.Count(content, "\n")
	if content != "" && !strings.HasSuffix(content, "\n") {
		total++
	}
	if offset > max(total, 1) {
		return "", fmt.Errorf("offset: the file has %d lines", total)
	}
	var out strings.Builder
	n := 0 // lines skipped or shown
	for line := range strings.Lines(content) {
		if n+1 >= offset {
			if n-offset+1 == limit || out.Len()+len(line) > readMax {
				if out.Len() == 0 {
					return strings.ToValidUTF8(line[:readMax], "") + fmt.Sprintf("\n[line %d continues: it has %d bytes]", offset, len(line)), nil
				}
				break
			}
			out.WriteString(line)
		}
		n++
	}
	if n < total {
		return strings.TrimSuffix(out.String(), "\n") + fmt.Sprintf("\n[lines %d to %d of %d; continue with offset %d]", offset, n, total, n+1), nil
	}
	return out.String(), nil
}

func (ts *Tools) listFiles(ctx context.Context, call tools.Call[listArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	files, err := ts.Open(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	defer files.Close() //nolint:errcheck // only read from
	var entries []workspace.Entry
	var more bool
	label, err := files.Reading(ctx, args.Path, func() error {
		entries, more, err = files.List(ctx, args.Path)
		return err
	})
	if err != nil {
		return sessions.ToolResult{}, pathError(args.Path, err)
	}
	return entriesResult(caller.Taint.Join(label), entries, more)
}

// entriesResult is a list of files; more says that it is incomplete.
func entriesResult(label flow.Label, entries []workspace.Entry, more bool) (sessions.ToolResult, error) {
	if entries == nil {
		entries = []workspace.Entry{}
	}
	text, err := tools.JSON(map[string]any{"count": len(entries), "entries": entries, "truncated": more})
	return sessions.ToolResult{Text: text, Label: label}, err
}
