// Package logs keeps the newest lines of the gateway's log in memory, for operators who can't read the log on the machine.
//
// At most linesMax lines are kept: a new line then replaces the oldest. Long values are cut. After a start there are no lines.
package logs

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	linesMax  = 2000
	fieldsMax = 20
	textMax   = 1000 // bytes of a message or value
)

// Line is a line of the log.
type Line struct {
	ID     string
	At     time.Time
	Level  slog.Level
	Part   string // what it is about: an account, an MCP server, or another part of the gateway; may be empty
	Text   string
	Fields []Field

	seq uint64
}

// Field is a named value of a line.
type Field struct{ Name, Value string }

// Keeper keeps lines. It is safe for concurrent use.
type Keeper struct {
	clean func(text string) string
	boot  string // makes the ids differ after each start

	mu    sync.Mutex
	lines []Line // a ring, full after linesMax lines
	seq   uint64 // of the newest line
}

// New creates a keeper. clean removes secrets from the texts of lines.
func New(started time.Time, clean func(text string) string) *Keeper {
	return &Keeper{clean: clean, boot: strconv.FormatInt(started.UnixMilli(), 36) + "-"}
}

// Handler keeps the lines that it passes on to another handler.
func (k *Keeper) Handler(next slog.Handler) slog.Handler { return &handler{next: next, keeper: k} }

type handler struct {
	next   slog.Handler
	keeper *Keeper
	prefix string
	fields []Field // with secrets
}

// Enabled implements [slog.Handler].
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	fields := slices.Clone(h.fields)
	r.Attrs(func(a slog.Attr) bool {
		fields = appendField(fields, h.prefix, a)
		return len(fields) < fieldsMax
	})
	h.keeper.add(r, fields)
	return h.next.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	fields := slices.Clone(h.fields)
	for _, a := range attrs {
		fields = appendField(fields, h.prefix, a)
	}
	return &handler{h.next.WithAttrs(attrs), h.keeper, h.prefix, fields}
}

// WithGroup implements [slog.Handler].
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.next.WithGroup(name), h.keeper, h.prefix + name + ".", h.fields}
}

func appendField(fields []Field, prefix string, a slog.Attr) []Field {
	value := a.Value.Resolve()
	switch {
	case len(fields) >= fieldsMax, a.Equal(slog.Attr{}):
		return fields
	case value.Kind() == slog.KindGroup:
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range value.Group() {
			fields = appendField(fields, prefix, inner)
		}
		return fields
	}
	return append(fields, Field{prefix + a.Key, value.String()})
}

func (k *Keeper) add(r slog.Record, fields []Field) {
	line := Line{At: r.Time, Level: r.Level, Part: partOf(fields), Text: k.shown(r.Message), Fields: fields}
	for i := range fields {
		fields[i].Value = k.shown(fields[i].Value)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seq++
	line.seq, line.ID = k.seq, k.boot+strconv.FormatUint(k.seq, 10)
	if len(k.lines) < linesMax {
		k.lines = append(k.lines, line)
		return
	}
	k.lines[(k.seq-1)%linesMax] = line
}

// shown is a text without secrets, cut if it is long. Secrets are removed first: a cut secret would not be found.
func (k *Keeper) shown(text string) string {
	text = k.clean(text)
	if len(text) <= textMax {
		return text
	}
	end := textMax
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.ToValidUTF8(text[:end], "") + "…"
}

// partOf is what a line is about.
func partOf(fields []Field) string {
	of := func(name string) string {
		for _, f := range fields {
			if f.Name == name {
				return f.Value
			}
		}
		return ""
	}
	if channel := of("channel"); channel != "" {
		return strings.TrimSuffix(channel+"/"+of("account"), "/")
	}
	if server := of("mcp_server"); server != "" {
		return "mcp/" + server
	}
	return of("part")
}

// Query chooses lines.
type Query struct {
	Level slog.Level // at least
	Part  string     // empty: any
	Words string     // in the text or a field, in upper or lower case; empty: any
	After string     // id of the last line of the previous page; empty: begin with the newest line
	Limit int
}

// Lines returns lines, newest first, and whether there are more. A page after a line that is no longer kept is empty.
func (k *Keeper) Lines(q Query) (found []Line, more bool) {
	before := uint64(0)
	if q.After != "" {
		seq, ours := strings.CutPrefix(q.After, k.boot)
		n, err := strconv.ParseUint(seq, 10, 64)
		if !ours || err != nil {
			return nil, false
		}
		before = n
	}
	words := strings.ToLower(q.Words)
	for _, line := range k.newestFirst() {
		if before > 0 && line.seq >= before || line.Level < q.Level || q.Part != "" && line.Part != q.Part || !line.says(words) {
			continue
		}
		if len(found) == q.Limit {
			return found, true
		}
		found = append(found, line)
	}
	return found, false
}

// Mark changes with each line.
func (k *Keeper) Mark() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.seq
}

func (k *Keeper) newestFirst() []Line {
	k.mu.Lock()
	defer k.mu.Unlock()
	lines := slices.Clone(k.lines)
	slices.SortFunc(lines, func(a, b Line) int { return cmp.Compare(b.seq, a.seq) })
	return lines
}

func (l *Line) says(words string) bool {
	if words == "" || strings.Contains(strings.ToLower(l.Text), words) {
		return true
	}
	return slices.ContainsFunc(l.Fields, func(f Field) bool { return strings.Contains(strings.ToLower(f.Name+"="+f.Value), words) })
}
