package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sluice/internal/workspace"
	"sluice/sessions"
)

const (
	findSchema = `{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{
"pattern":{"type":"string","description":"as *.go, src/**/*.{ts,tsx}; without a slash it is matched with the file's name"},
"path":{"type":"string","description":"a folder of the workspace; default: all of it"}}}`
	grepSchema = `{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{
"pattern":{"type":"string","description":"an RE2 expression"},
"path":{"type":"string","description":"a folder or a file of the workspace; default: all of it"},
"files":{"type":"string","description":"only files that match, as for find"},
"ignoreCase":{"type":"boolean"},
"limit":{"type":"integer","minimum":1,"maximum":500,"description":"lines; default 100"}}}`
	grepDefault, grepMost = 100, 500
	// grepLine is how much of a line is shown, in bytes.
	grepLine = 400
	// patternMost is the length of a pattern in bytes, at most.
	patternMost = 1000
)

func (l *Loop) findFiles(ctx context.Context, caller sessions.Caller, raw json.RawMessage) (sessions.ToolResult, error) {
	var args struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path"`
	}
	if err := decodeArgs(raw, &args); err != nil {
		return sessions.ToolResult{}, err
	}
	glob, err := workspace.ParseGlob(args.Pattern)
	if err != nil {
		return sessions.ToolResult{}, fmt.Errorf("pattern: %w", err)
	}
	files, err := l.files(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	defer files.Close() //nolint:errcheck // only read from
	var found []workspace.Entry
	more := false
	whole, err := files.Walk(ctx, args.Path, func(e workspace.Entry, _ func() ([]byte, error)) bool {
		switch {
		case !glob.Match(e.Path):
		case len(found) == workspace.EntriesMost:
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

// grepArgs are the arguments of grep.
type grepArgs struct {
	Pattern    string  `json:"pattern"`
	Path       string  `json:"path"`
	Files      *string `json:"files"`
	IgnoreCase bool    `json:"ignoreCase"`
	Limit      *int    `json:"limit"`
}

// grep is one search for lines.
type grep struct {
	expression *regexp.Regexp
	only       *workspace.Glob
	limit      int
	found      []grepMatch
	skipped    int // files that are too big or no text
	more       bool
}

type grepMatch struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

func (a grepArgs) parse() (*grep, error) {
	g := &grep{limit: grepDefault}
	if a.Limit != nil {
		g.limit = *a.Limit
	}
	switch {
	case a.Pattern == "" || len(a.Pattern) > patternMost:
		return nil, fmt.Errorf("pattern: want 1 to %d bytes", patternMost)
	case g.limit < 1 || g.limit > grepMost:
		return nil, fmt.Errorf("limit: %d, want 1 to %d", g.limit, grepMost)
	}
	pattern := a.Pattern
	if a.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	var err error
	if g.expression, err = regexp.Compile(pattern); err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	if a.Files != nil {
		only, err := workspace.ParseGlob(*a.Files)
		if err != nil {
			return nil, fmt.Errorf("files: %w", err)
		}
		g.only = &only
	}
	return g, nil
}

func (l *Loop) grepFiles(ctx context.Context, caller sessions.Caller, raw json.RawMessage) (sessions.ToolResult, error) {
	var args grepArgs
	if err := decodeArgs(raw, &args); err != nil {
		return sessions.ToolResult{}, err
	}
	g, err := args.parse()
	if err != nil {
		return sessions.ToolResult{}, err
	}
	files, err := l.files(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	defer files.Close() //nolint:errcheck // only read from
	whole, err := files.Walk(ctx, args.Path, g.look)
	if err != nil {
		return sessions.ToolResult{}, pathError(args.Path, err)
	}
	if g.found == nil {
		g.found = []grepMatch{}
	}
	text, err := jsonResult(map[string]any{"count": len(g.found), "matches": g.found, "truncated": g.more || !whole, "skippedFiles": g.skipped})
	return sessions.ToolResult{Text: text, Label: caller.Taint}, err
}

// look searches one file. It returns false when there is enough.
func (g *grep) look(e workspace.Entry, read func() ([]byte, error)) bool {
	if g.only != nil && !g.only.Match(e.Path) {
		return true
	}
	content, err := read()
	if errors.Is(err, sessions.ErrNotFound) {
		return true // gone meanwhile
	}
	if err != nil || binary(content) {
		g.skipped++
		return true
	}
	n := 0
	for line := range strings.Lines(string(content)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if !g.expression.MatchString(line) {
			continue
		}
		if g.more = len(g.found) == g.limit; g.more {
			return false
		}
		g.found = append(g.found, grepMatch{e.Path, n, clipped(line)})
	}
	return true
}

func clipped(line string) string {
	if len(line) > grepLine {
		return strings.ToValidUTF8(line[:grepLine], "") + "…"
	}
	return line
}
