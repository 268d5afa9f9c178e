package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/internal/agent/roster"
	"sluice/internal/agent/tools"
	"sluice/policy/flow"
	"sluice/sessions"
)

type getArgs struct {
	Key string `json:"key" jsonschema:"as it was saved" bounds:"minLength=1"`
}

type searchArgs struct {
	Query string `json:"query" jsonschema:"what to look for, in plain language" bounds:"minLength=1"`
	Max   *int   `json:"max_results,omitempty" jsonschema:"default 10" bounds:"minimum=1,maximum=50"`
}

type listArgs struct {
	Tag   string `json:"tag,omitempty" jsonschema:"only memories with this tag; default: all"`
	Limit *int   `json:"limit,omitempty" jsonschema:"default 50" bounds:"minimum=1,maximum=200"`
	After string `json:"after,omitempty" jsonschema:"next from the previous page; default: the first page"`
}

const (
	memorySearchDefault = 10
	memoryListDefault   = 50
	// memoryShown and memoryListed limit the content that a search and a list show, in bytes; memory_get shows all of it.
	memoryShown  = 4000
	memoryListed = 500
)

// Store stores memories.
type Store interface {
	// Remembers reports whether anything was ever saved in a namespace.
	Remembers(ctx context.Context, namespace string) (bool, error)
	// SaveMemory applies a save in one transaction.
	SaveMemory(ctx context.Context, s sessions.MemorySave) error
	// DeleteMemory applies a deletion in one transaction.
	DeleteMemory(ctx context.Context, d sessions.MemoryDelete) error
	// MemoriesByKey reads the memories of a key in a scope.
	MemoriesByKey(ctx context.Context, q sessions.MemoryKeyed) ([]sessions.Memory, error)
	// Memories lists the memories in a scope.
	Memories(ctx context.Context, q sessions.MemoryQuery) ([]sessions.Memory, error)
	// SearchMemories finds memories by words, best match first, then newest first.
	SearchMemories(ctx context.Context, q sessions.MemorySearch) ([]sessions.Memory, error)
}

// Tools are the memory tools. Only the caller's level, trust and audience decide where a memory is stored and which
// ones are visible; no parameter changes that.
type Tools struct {
	Store  Store
	Roster *roster.Roster
	Now    func() time.Time
}

func memoryTool[A any](name, about string, writes sessions.FlowEnd, run func(context.Context, tools.Call[A]) (sessions.ToolResult, error)) sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{Name: name, Description: about},
		Flow: sessions.ToolFlow{Reads: sessions.FlowMemory, Writes: writes}, Idempotent: name != "memory_delete",
	}, tools.Work[A]{Run: run})
}

// All gives the tools.
func (ts *Tools) All() []sessions.Tool {
	return []sessions.Tool{
		memoryTool("memory_save", "Saves something under a key for later conversations. Replaces what was saved under the key before.", sessions.FlowMemory, ts.saveMemory),
		memoryTool("memory_get", "Shows the memory with a key.", sessions.FlowNone, ts.getMemory),
		memoryTool("memory_search", "Searches memories by words, best match first.", sessions.FlowNone, ts.searchMemories),
		memoryTool("memory_list", "Lists memories, ordered by key.", sessions.FlowNone, ts.listMemories),
		memoryTool("memory_delete", "Forgets the memory with a key.", sessions.FlowMemory, ts.deleteMemory),
	}
}

// memoryRow is a memory as a model reads it.
type memoryRow struct {
	Key       string            `json:"key"`
	Content   string            `json:"content"`
	Truncated bool              `json:"truncated,omitempty"` // memory_get shows all of it
	Level     flow.Level        `json:"classification"`
	Tags      []string          `json:"tags"`
	Updated   time.Time         `json:"updated_at"`
	Expires   *time.Time        `json:"expires_at,omitempty"`
	Audience  sessions.Audience `json:"audience,omitempty"` // the conversation it comes from, if not the caller's
}

// memoryRows shows memories to a caller, with their joint label.
func memoryRows(caller sessions.Caller, found []sessions.Memory, most int) ([]memoryRow, flow.Label, error) {
	rows, label := []memoryRow{}, flow.NewLabel(flow.Public, flow.Trusted)
	for _, m := range found {
		if !flow.CanFlow(m.Label.Level(), caller.Taint.Level()) { // the store has filtered them; this is the last line of defence
			return nil, flow.Top(), tools.Inside("read memories", errors.New("the store gave one above the caller's level"))
		}
		row := memoryRow{Key: m.Key, Level: m.Label.Level(), Tags: append([]string{}, m.Tags...), Updated: m.Updated}
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

func (ts *Tools) getMemory(ctx context.Context, call tools.Call[getArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	if err := checkMemoryKey(args.Key); err != nil {
		return sessions.ToolResult{}, err
	}
	// A memory of the caller's own conversation comes before other conversations' memories with the same key.
	found, err := ts.Store.MemoriesByKey(ctx, sessions.MemoryKeyed{MemoryScope: ts.memories(caller), Key: args.Key, First: caller.Audience, Limit: 1})
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("read memory", err)
	}
	rows, label, err := memoryRows(caller, found, sessions.MemoryContentMax)
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

func (ts *Tools) searchMemories(ctx context.Context, call tools.Call[searchArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	if strings.TrimSpace(args.Query) == "" {
		return sessions.ToolResult{}, errors.New("query: is required")
	}
	limit := memorySearchDefault
	if args.Max != nil {
		limit = *args.Max
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

func (ts *Tools) listMemories(ctx context.Context, call tools.Call[listArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	limit := memoryListDefault
	if args.Limit != nil {
		limit = *args.Limit
	}
	q := sessions.MemoryQuery{MemoryScope: ts.memories(caller), Tag: args.Tag, Limit: limit + 1}
	if args.After != "" {
		var err error
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
		Next     string      `json:"next,omitempty"` // there are more: after for the next page
	}{rows, next}
	text, err := tools.JSON(result)
	return sessions.ToolResult{Text: text, Label: label}, err
}
