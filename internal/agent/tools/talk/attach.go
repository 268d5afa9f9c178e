package talk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/internal/agent/tools"
	"sluice/internal/workspace"
	"sluice/policy/flow"
	"sluice/router/outbound"
	"sluice/sessions"
)

// AttachName is the tool that adds files to the reply.
const AttachName = "attach"

// attachMax is how many files a reply has at most.
const attachMax = 10

type attachArgs struct {
	Files []string `json:"files" jsonschema:"paths in the workspace" bounds:"minItems=1,maxItems=10"`
}

// attachResult is the result of the tool, and the record of what the reply has.
type attachResult struct {
	Attached []string `json:"attached"`
	Note     string   `json:"note,omitempty"`
}

// attachTool only takes note of the paths. The files are read when the reply is ready, and stored in the commit that stores the reply,
// so that a crash neither loses them nor sends them twice.
func (ts *Tools) attachTool() sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{
			Name:        AttachName,
			Description: "Adds files of the workspace to your reply; they are sent after its text, as they are when you have finished. To send files at once or elsewhere, use message.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowNone, Writes: sessions.FlowNone}, Idempotent: true,
	}, tools.Work[attachArgs]{Run: ts.attach})
}

func (ts *Tools) attach(ctx context.Context, call tools.Call[attachArgs]) (sessions.ToolResult, error) {
	if call.Caller.Route.IsZero() {
		return sessions.ToolResult{}, errors.New("your reply goes to no conversation, so it can't have files: name their paths in the text instead")
	}
	for i, name := range call.Args.Files {
		if received(name) {
			return sessions.ToolResult{}, fmt.Errorf("files[%d]: want a path in the workspace, such as that beside the file's id; message sends files by their ids", i)
		}
	}
	_, err := ts.eachFile(ctx, call.Caller, "files", call.Args.Files, func(files *workspace.Files, name string) error {
		file, info, err := files.Open(name)
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // nothing was read
		return ts.fits(info.Size())
	})
	if err != nil {
		return sessions.ToolResult{}, err
	}
	text, err := tools.JSON(attachResult{call.Args.Files, fmt.Sprintf("A reply has at most %d files. A file that you change later is sent with the change.", attachMax)})
	return sessions.ToolResult{Text: text, Label: flow.NewLabel(call.Caller.Taint.Level(), flow.Trusted)}, err
}

// fits says whether a file of this size can be sent.
func (ts *Tools) fits(size int64) error {
	most := int64(workspace.FileMax)
	if ts.FileMax != nil && ts.FileMax() > 0 {
		most = min(most, ts.FileMax())
	}
	if size > most {
		return fmt.Errorf("it has %d bytes, the maximum is %d (limits.maxMediaBytes)", size, most)
	}
	return nil
}

// Attached are the paths that the calls of a run have added to its reply, in their order and each once. More than fit are left out.
func Attached(thread []sessions.Message, run sessions.RunID) (paths []string, more int) {
	paths = attachedBy(thread, run)
	kept := paths[:min(len(paths), attachMax)]
	return kept, len(paths) - len(kept)
}

func attachedBy(thread []sessions.Message, run sessions.RunID) (paths []string) {
	for _, m := range thread {
		for i, p := range m.Parts {
			text := p.Text
			switch {
			case m.Role == sessions.RoleSummary && i > 0: // its first part is what a model has written
				text, _ = strings.CutPrefix(text, noteHead(run))
			case m.Role != sessions.RoleToolResult || m.Run != run || p.Tool != AttachName || p.Error:
				continue
			}
			var result attachResult
			if json.Unmarshal([]byte(text), &result) != nil {
				continue
			}
			for _, path := range result.Attached {
				if !slices.Contains(paths, path) {
					paths = append(paths, path)
				}
			}
		}
	}
	return paths
}

// noteHead is the beginning of the note in a summary about the files of a run's reply.
func noteHead(run sessions.RunID) string {
	return "Files that you have attached to your reply (" + string(run) + "): "
}

// Noted returns what the summary of a thread's beginning must contain so that the reply of a run keeps its files.
func Noted(summarized []sessions.Message, run sessions.RunID) []string {
	paths := attachedBy(summarized, run)
	if len(paths) == 0 {
		return nil
	}
	text, err := tools.JSON(attachResult{Attached: paths})
	if err != nil {
		return nil // paths are strings, which JSON can always encode
	}
	return []string{noteHead(run) + text}
}

// Take reads a file for a reply.
func (ts *Tools) Take(ctx context.Context, caller sessions.Caller, path string) (file outbound.NewFile, label flow.Label, err error) {
	label, err = ts.eachFile(ctx, caller, "files", []string{path}, func(files *workspace.Files, name string) error {
		if file, err = taken(files, name); err != nil {
			return err
		}
		return ts.fits(int64(len(file.Content)))
	})
	return file, label, err
}
