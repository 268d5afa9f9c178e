package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"sluice/internal/agent/tools"
	"sluice/internal/glob"
	"sluice/internal/workspace"
	"sluice/policy"
	"sluice/sessions"
)

const (
	grepDefault = 100
	// grepLine is how much of a line is shown, in bytes.
	grepLine = 400
	// grepBytes is how much text one search reads at most.
	grepBytes = 256 << 20
	// patternMax is the length of a pattern in bytes, at most.
	patternMax = 1000
	// programMax is the maximum number of instructions of a compiled pattern. Each character of a text may take a
	// step per instruction; nested repetitions multiply them.
	programMax = 10_000
	// searchSteps is the maximum number of steps of one search: some seconds.
	searchSteps = 1_000_000_000
	// sliceSteps is how many steps a search takes between two checks of its context: some milliseconds.
	sliceSteps = 1 << 20
)

// grepArgs are the arguments of grep.
type grepArgs struct {
	Pattern    string  `json:"pattern" jsonschema:"an RE2 expression"`
	Path       string  `json:"path,omitempty" jsonschema:"a folder or a file of the workspace; default: all of it"`
	Files      *string `json:"files,omitempty" jsonschema:"only files that match this pattern, as in find"`
	IgnoreCase bool    `json:"ignoreCase,omitempty"`
	Limit      *int    `json:"limit,omitempty" jsonschema:"maximum number of lines; default 100" bounds:"minimum=1,maximum=500"`
}

// grep is one search for lines.
type grep struct {
	pattern pattern
	only    *glob.Path
	limit   int
	found   []grepMatch
	skipped int // files that are too big or not text
	more    bool
	steps   int    // steps left
	bytes   int    // bytes left
	stopped string // where it stopped early, and why; empty if it did not
}

type grepMatch struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

func (a grepArgs) parse() (*grep, error) {
	g := &grep{limit: grepDefault, steps: searchSteps, bytes: grepBytes}
	if a.Limit != nil {
		g.limit = *a.Limit
	}
	if a.Pattern == "" || len(a.Pattern) > patternMax {
		return nil, fmt.Errorf("pattern: want 1 to %d bytes", patternMax)
	}
	var err error
	if g.pattern, err = parsePattern(a.Pattern, a.IgnoreCase); err != nil {
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

func (ts *Tools) grepFiles(ctx context.Context, call tools.Call[grepArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	g, err := args.parse()
	if err != nil {
		return sessions.ToolResult{}, err
	}
	files, err := ts.Open(ctx, caller)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	defer files.Close() //nolint:errcheck // only read from
	whole := false
	label, err := files.Reading(ctx, args.Path, func() (err error) {
		whole, err = files.Walk(ctx, args.Path, func(e workspace.Entry, read func() ([]byte, error)) bool { return g.look(ctx, e, read) })
		return err
	})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return sessions.ToolResult{}, pathError(args.Path, err)
	}
	if g.found == nil {
		g.found = []grepMatch{}
	}
	result := map[string]any{"count": len(g.found), "matches": g.found, "truncated": g.more || !whole || g.stopped != "", "skippedFiles": g.skipped}
	if g.stopped != "" {
		result["stopped"] = g.stopped
	}
	text, err := tools.JSON(result)
	return sessions.ToolResult{Text: text, Label: caller.Taint.Join(label)}, err
}

// look searches one file. It returns false when the search is over.
func (g *grep) look(ctx context.Context, e workspace.Entry, read func() ([]byte, error)) bool {
	if g.only != nil && !g.only.Match(e.Path) {
		return true
	}
	if g.bytes -= int(min(e.Size, workspace.FileMax)); g.bytes < 0 {
		g.stopped = fmt.Sprintf("at %s: one search reads at most %d MiB; search fewer files (path, files)", e.Path, grepBytes>>20)
		return false
	}
	content, err := read()
	if errors.Is(err, sessions.ErrNotFound) {
		return true // deleted in the meantime
	}
	if err != nil || binary(content) {
		g.skipped++
		return true
	}
	n, slice := 0, 0
	for line := range strings.Lines(string(content)) {
		n++
		steps := g.pattern.steps(line)
		if slice += steps; slice > sliceSteps {
			slice = 0
			if ctx.Err() != nil {
				return false
			}
		}
		if g.steps -= steps; g.steps < 0 && !policy.CheckSearch.Skipped() {
			g.stopped = fmt.Sprintf("in %s, line %d: the search took more work than one call may; use a simpler pattern, or search fewer files (path, files)", e.Path, n)
			return false
		}
		line = strings.TrimRight(line, "\r\n")
		if !g.pattern.match(ctx, line) {
			continue
		}
		if g.more = len(g.found) == g.limit; g.more {
			return false
		}
		g.found = append(g.found, grepMatch{e.Path, n, clipped(line)})
	}
	return ctx.Err() == nil
}

func clipped(line string) string {
	if len(line) > grepLine {
		return strings.ToValidUTF8(line[:grepLine], "") + "…"
	}
	return line
}

// pattern is a regular expression with a known maximum cost.
type pattern struct {
	expression *regexp.Regexp
	size       int // instructions
}

func parsePattern(text string, ignoreCase bool) (pattern, error) {
	if ignoreCase {
		text = "(?i)" + text
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return pattern{}, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return pattern{}, err
	}
	size := len(program.Inst)
	if size > programMax && !policy.CheckSearch.Skipped() {
		return pattern{}, fmt.Errorf("its repetitions make it too big: %d steps for each character, the maximum is %d; use smaller counts, or * and +", size, programMax)
	}
	expression, err := regexp.Compile(text)
	return pattern{expression, size}, err
}

// steps is the maximum number of steps to match a text.
func (p pattern) steps(text string) int { return len(text) * p.size }

// match reports whether a text matches. When ctx ends it returns soon, and the result is meaningless.
func (p pattern) match(ctx context.Context, text string) bool {
	if p.steps(text) <= sliceSteps {
		return p.expression.MatchString(text)
	}
	every := max(sliceSteps/p.size, 1)
	return p.expression.MatchReader(&watchedText{ctx: ctx, text: text, every: every, look: every})
}

// watchedText is a text that ends when its context ends.
type watchedText struct {
	ctx         context.Context //nolint:containedctx // it is a reader of one call
	text        string
	at          int
	every, look int // ctx is checked when at reaches look, then after every further characters
}

// ReadRune implements [io.RuneReader].
func (w *watchedText) ReadRune() (r rune, size int, err error) {
	if w.at >= w.look {
		w.look = w.at + w.every
		if w.ctx.Err() != nil {
			return 0, 0, io.EOF
		}
	}
	if w.at >= len(w.text) {
		return 0, 0, io.EOF
	}
	r, size = utf8.DecodeRuneInString(w.text[w.at:])
	w.at += size
	return r, size, nil
}
