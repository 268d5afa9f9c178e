package skills

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"sluice/internal/agent/tools"
	"sluice/sessions"
)

const (
	runDefault, runMax = 60, 120 // seconds
	// runTimeout leaves time for a killed script to end.
	runTimeout = (runMax + 10) * time.Second
	// argsMax is how many arguments a script has at most, and argumentsMax how many bytes they have.
	argsMax, argumentsMax = 100, 64 << 10
	// folder is where scripts see the files of their skills.
	folder = "/skills"
	// wordsMax is how many words the first line of a script has, at most.
	wordsMax = 8
)

type runArgs struct {
	Name    string   `json:"name" jsonschema:"the skill" bounds:"minLength=1"`
	Script  string   `json:"script" jsonschema:"the path of the script in the skill, for example scripts/fill.py" bounds:"minLength=1"`
	Args    []string `json:"args,omitempty" jsonschema:"its arguments; no shell reads them"`
	Stdin   string   `json:"stdin,omitempty" jsonschema:"its standard input"`
	Timeout *int     `json:"timeoutSeconds,omitempty" jsonschema:"default 60" bounds:"minimum=1,maximum=120"`
}

func (ts *Tools) run(ctx context.Context, call tools.Call[runArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	e, err := ts.find(ctx, caller, args.Name)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	if caller.Taint.Join(e.Label) != caller.Taint { // what a script does, its session must have learned before
		return sessions.ToolResult{}, fmt.Errorf("name: read the skill with %s first", ReadName)
	}
	size := 0
	for _, a := range args.Args {
		size += len(a)
	}
	if len(args.Args) > argsMax || size > argumentsMax {
		return sessions.ToolResult{}, fmt.Errorf("args: %d arguments of %d bytes, the maximum is %d of %d", len(args.Args), size, argsMax, argumentsMax)
	}
	d, _ := ts.Roster.Definition(caller.Agent)
	s := Script{Stdin: args.Stdin, Seconds: runDefault, At: path.Join(folder, e.Name), Label: e.Label}
	if args.Timeout != nil {
		s.Seconds = *args.Timeout
	}
	content, err := ts.Keeper.Text(agentOf(d), e, args.Script)
	if err != nil {
		return sessions.ToolResult{}, fmt.Errorf("script: %w; %s shows the skill's files", err, ReadName)
	}
	with, err := interpreter(args.Script, content)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	s.Command = append(append(with, path.Join(s.At, path.Clean(args.Script))), args.Args...)
	if s.Folder, err = ts.Keeper.Copy(agentOf(d), e); err != nil {
		return sessions.ToolResult{}, tools.Inside("copy skill", err)
	}
	defer os.RemoveAll(s.Folder) //nolint:errcheck // a temporary folder, which the system removes otherwise
	result, err := ts.Run(ctx, caller, s)
	if err == nil {
		result.Label = result.Label.Join(e.Label)
	}
	return result, err
}

// interpreter is the program that runs a script: the one of its first line, or the one for its kind of file.
func interpreter(name string, content []byte) ([]string, error) {
	first, _, _ := strings.Cut(string(content[:min(len(content), 256)]), "\n")
	if line, ok := strings.CutPrefix(first, "#!"); ok {
		if words := strings.Fields(line); len(words) > 0 && len(words) <= wordsMax {
			return words, nil
		}
		return nil, errors.New("script: its first line names no interpreter")
	}
	switch path.Ext(name) {
	case ".sh":
		return []string{"sh"}, nil
	case ".py":
		return []string{"python3"}, nil
	case ".js", ".mjs":
		return []string{"node"}, nil
	case ".pl":
		return []string{"perl"}, nil
	case ".rb":
		return []string{"ruby"}, nil
	}
	return nil, errors.New("script: want a first line such as #!/usr/bin/env python3, or a file of the kind .sh .py .js .pl .rb")
}
