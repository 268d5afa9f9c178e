package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/agent/roster"
	"sluice/internal/agent/tools"
	"sluice/policy/flow"
	"sluice/sessions"
)

const (
	memoryGetSchema = `{"type":"object","additionalProperties":false,"required":["key"],"properties":{
"key":{"type":"string","minLength":1,"description":"as it was saved"}}}`
	memorySearchSchema = `{"type":"object","additionalProperties":false,"required":["query"],"properties":{
"query":{"type":"string","minLength":1,"description":"what to look for, in plain language"},
"max_results":{"type":"integer","minimum":1,"maximum":50,"description":"default 10"}}}`
	memoryListSchema = `{"type":"object","additionalProperties":false,"properties":{
"tag":{"type":"string","description":"only memories with this tag; default: all"},
"limit":{"type":"integer","minimum":1,"maximum":200,"description":"default 50"},
"after":{"type":"string","description":"next from the previous page; default: the first page"}}}`
)

const (
	memorySearchDefault = 10
	memorySearchMax     = 50
	memoryListDefault   = 50
	memoryListMax       = 200
	// memoryShown and memoryListed are the bytes of a content that a search and a list show; memory_get shows all of it.
	memoryShown  = 4000
	memoryListed = 500
)

// Store stores memories.
type Store interface {
	// SaveMemory applies a save in one transaction.
	SaveMemory(ctx context.Context, s sessions.MemorySave) error
	// DeleteMemory applies a deletion in one transaction.
	DeleteMemory(ctx context.Context, d sessions.MemoryDelete) error
	// MemoriesByKey reads what is in a scope under a key: one at most of each audience, the newest first.
	MemoriesByKey(ctx context.Context, s sessions.MemoryScope, key string) ([]sessions.Memory, error)
	// Memories lists what is in a scope.
	Memories(ctx context.Context, q sessions.MemoryQuery) ([]sessions.Memory, error)
	// SearchMemories finds memories by words, the best first and of equals the newest.
	SearchMemories(ctx context.Context, q sessions.MemorySearch) ([]sessions.Memory, error)
}

// Tools are what an agent remembers with across sessions. Where a memory goes and what is seen of
// it depends on the caller alone: its level, its trust and its audience. No parameter says anything of them.
type Tools struct {
	Store  Store
	Roster *roster.Roster
	Now    func() time.Time
}

// All gives the tools.
func (ts *Tools) All() []sessions.Tool {
	tool := func(name, about, schema string, writes sessions.FlowEnd, run tools.Func) sessions.Tool {
		return sessions.Tool{
			Spec: sessions.ToolSpec{Name: name, Description: about, Parameters: json.RawMessage(schema)},
			Flow: sessions.ToolFlow{Reads: sessions.FlowMemory, Writes: writes}, Idempotent: name != "memory_delete", Run: run,
		}
	}
	return []sessions.Tool{
		tool("memory_save", "Saves something under a key for later conversations. Replaces what was saved under the key before.", memorySaveSchema, sessions.FlowMemory, ts.saveMemory),
		tool("memory_get", "Shows the memory with a key.", memoryGetSchema, sessions.FlowNone, ts.getMemory),
		tool("memory_search", "Searches memories by words, best match first.", memorySearchSchema, sessions.FlowNone, ts.searchMemories),
		tool("memory_list", "Lists memories, ordered by key.", memoryListSchema, sessions.FlowNone, ts.listMemories),
		tool("memory_delete", "Forgets the memory with a key.", memoryDeleteSchema, sessions.FlowMemory, ts.deleteMemory),
	}
}

// memoryRow is a memory as a model sees it.
type memoryRow struct {
	Key       string            `json:"key"`
	Content   string            `json:"content"`
	Truncated bool              `json:"truncated,omitempty"` // memory_get shows all of it
	Level     flow.Level        `json:"classification"`
	Tags      []string          `json:"tags"`
	Updated   time.Time         `json:"updated_at"`
	Expires   *time.Time        `json:"expires_at,omitempty"`
	Audience  sessions.Audience `json:"audience,omitempty"` // the conversation that told it, where it is not the caller's
}

// memoryRows shows memories to a caller, and says how they are labelled together.
func memoryRows(caller sessions.Caller, found []sessions.Memory, most int) ([]memoryRow, flow.Label, error) {
	rows, label := []memoryRow{}, flow.NewLabel(flow.Public, flow.Trusted)
	for _, m := range found {
		if !flow.CanFlow(m.Label.Level(), caller.Taint.Level()) { // the store has selected them; this is the last line of defence
			return nil, flow.Top(), tools.Inside("read memories", errors.New("the store gave one above the caller's level"))
		}
		row := memoryRow{Key: m.Key, Level: m.Label.Level(), Tags: slices.Concat([]string{}, m.Tags), Updated: m.Updated}
		row.Content, row.Truncated = tools.CutText(m.Content, most)
		if !m.Expires.IsZero() {
			row.Expires = &m.Expires
		}
		if m.Audience != caller.Audience {
			row.Audience = m.Audience
		}
		rows, label = append(rows, row), label.Join(m.Label)
	}
	return rows, label, nil
}

// memories is the scope of a call.
func (ts *Tools) memories(caller sessions.Caller) sessions.MemoryScope {
	d, _ := ts.Roster.Definition(caller.Agent)
	return ts.memoryScope(d, caller.Audience, caller.Taint.Level())
}

func (ts *Tools) getMemory(ctx context.Context, caller sessions.Caller, raw json.RawMessage) (sessions.ToolResult, error) {
	var args struct {
		Key string `json:"key"`
	}
	if err := tools.DecodeArgs(raw, &args); err != nil {
		return sessions.ToolResult{}, err
	}
	if err := checkMemoryKey(args.Key); err != nil {
		return sessions.ToolResult{}, err
	}
	found, err := ts.Store.MemoriesByKey(ctx, ts.memories(caller), args.Key)
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("read memory", err)
	}
	// What others have told under the same key never takes the place of what the caller's own conversation did.
	if own := slices.IndexFunc(found, func(m sessions.Memory) bool { return m.Audience == caller.Audience }); own >= 0 {
		found = found[own:]
	}
	rows, label, err := memoryRows(caller, found[:min(1, len(found))], sessions.MemoryContentMax)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	result := struct {
		Found bool   `json:"found"`
		Key   string `json:"key"`
		*memoryRow
	}{Found: len(rows) > 0, Key: args.Key}
	if result.Found {
		result.memoryRow = &rows[0]
	}
	text, err := tools.JSON(result)
	return sessions.ToolResult{Text: text, Label: label}, err
}

func (ts *Tools) searchMemories(ctx context.Context, caller sessions.Caller, raw json.RawMessage) (sessions.ToolResult, error) {
	var args struct {
		Query string `json:"query"`
		Max   *int   `json:"max_results"`
	}
	if err := tools.DecodeArgs(raw, &args); err != nil {
		return sessions.ToolResult{}, err
	}
	if strings.TrimSpace(args.Query) == "" {
		return sessions.ToolResult{}, errors.New("query: is required")
	}
	limit, err := countOf("max_results", args.Max, memorySearchDefault, memorySearchMax)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	found, err := ts.Store.SearchMemories(ctx, sessions.MemorySearch{MemoryScope: ts.memories(caller), Text: args.Query, Limit: limit})
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("search memories", err)
	}
	rows, label, err := memoryRows(caller, found, memoryShown)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	asked, _ := tools.CutText(args.Query, memoryListed)
	text, err := tools.JSON(map[string]any{"results": rows, "query": asked})
	return sessions.ToolResult{Text: text, Label: label}, err
}

// countOf is a number of rows that a caller wants.
func countOf(name string, want *int, otherwise, most int) (int, error) {
	switch {
	case want == nil:
		return otherwise, nil
	case *want < 1 || *want > most:
		return 0, fmt.Errorf("%s: %d is not between 1 and %d", name, *want, most)
	}
	return *want, nil
}

func (ts *Tools) listMemories(ctx context.Context, caller sessions.Caller, raw json.RawMessage) (sessions.ToolResult, error) {
	var args struct {
		Tag   string `json:"tag"`
		Limit *int   `json:"limit"`
		After string `json:"after"`
	}
	if err := tools.DecodeArgs(raw, &args); err != nil {
		return sessions.ToolResult{}, err
	}
	limit, err := countOf("limit", args.Limit, memoryListDefault, memoryListMax)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	q := sessions.MemoryQuery{MemoryScope: ts.memories(caller), Tag: args.Tag, Limit: limit + 1}
	if args.After != "" {
		if q.After, err = sessions.ParseMemoryPlace(args.After); err != nil {
			return sessions.ToolResult{}, fmt.Errorf("after: %w of memory_list", err)
		}
		q.After.Namespace = q.Namespace
	}
	found, err := ts.Store.Memories(ctx, q)
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("list memories", err)
	}
	next := ""
	if len(found) > limit {
		found = found[:limit]
		next = sessions.MemoryPlace{Key: found[limit-1].Key, Audience: found[limit-1].Audience}.Cursor()
	}
	rows, label, err := memoryRows(caller, found, memoryListed)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	result := struct {
		Memories []memoryRow `json:"memories"`
		Next     string      `json:"next,omitempty"` // there are more: after for the page that follows
	}{rows, next}
	text, err := tools.JSON(result)
	return sessions.ToolResult{Text: text, Label: label}, err
}
