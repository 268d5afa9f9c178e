package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sluice/internal/agent/roster"
	"sluice/internal/agent/tools"
	"sluice/policy/flow"
	"sluice/router/request"
	"sluice/sessions"
)

// memorySaveArgs are the arguments of memory_save.
type memorySaveArgs struct {
	Key       string   `json:"key" jsonschema:"a short name that says what it is about, such as user-name or project-deadline; at most 256 bytes" bounds:"minLength=1"`
	Content   string   `json:"content" jsonschema:"what to remember, at most 64 KiB" bounds:"minLength=1"`
	Tags      []string `json:"tags,omitempty" jsonschema:"each at most 64 bytes. Memories tagged persona, rule, preference or project are recalled automatically" bounds:"maxItems=32,each.minLength=1"`
	ExpiresAt string   `json:"expires_at,omitempty" jsonschema:"when to forget it, such as 2027-01-31T18:00:00Z; default: never" bounds:"format=date-time"`
}

type memoryDeleteArgs struct {
	Key     string `json:"key" jsonschema:"as it was saved" bounds:"minLength=1"`
	Uncover bool   `json:"uncover,omitempty" jsonschema:"show here again what less confidential conversations saved under the key; default false: the key becomes empty"`
}

func (a *memorySaveArgs) check() error {
	if err := checkMemoryKey(a.Key); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(a.Content) == "":
		return errors.New("content: is required")
	case len(a.Content) > sessions.MemoryContentMax:
		return fmt.Errorf("content: is %d bytes long, the maximum is %d", len(a.Content), sessions.MemoryContentMax)
	}
	for i, tag := range a.Tags {
		if err := checkMemoryName(fmt.Sprintf("tags[%d]", i), tag, sessions.MemoryTagMax); err != nil {
			return err
		}
	}
	return nil
}

// expires is when the memory ends; zero for never.
func (a *memorySaveArgs) expires(now time.Time) (time.Time, error) {
	if a.ExpiresAt == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, a.ExpiresAt)
	if err != nil {
		return at, fmt.Errorf("expires_at: %q is not a time such as 2027-01-31T18:00:00Z", a.ExpiresAt)
	}
	if !at.After(now) {
		return at, fmt.Errorf("expires_at: %s is in the past; it is now %s", a.ExpiresAt, now.UTC().Format(time.RFC3339))
	}
	return at.UTC(), nil
}

func checkMemoryKey(key string) error { return checkMemoryName("key", key, sessions.MemoryKeyMax) }

func checkMemoryName(parameter, text string, most int) error {
	switch {
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("%s: is required", parameter)
	case len(text) > most:
		return fmt.Errorf("%s: is %d bytes long, the maximum is %d", parameter, len(text), most)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, breaksLine):
		return fmt.Errorf("%s: want one line without control characters", parameter)
	}
	return nil
}

// newMemory is a new version from a caller. It always has the caller's label: a chosen one could be too low.
func (ts *Tools) newMemory(caller sessions.Caller, key string) sessions.Memory {
	d, _ := ts.Roster.Definition(caller.Agent)
	return sessions.Memory{
		ID: sessions.NewMemoryID(), Namespace: d.Namespace(), Audience: caller.Audience, Label: caller.Taint, Key: key,
		Session: caller.Session, Run: caller.Run, Updated: ts.Now(),
	}
}

func (ts *Tools) saveMemory(ctx context.Context, call tools.Call[memorySaveArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	if err := args.check(); err != nil {
		return sessions.ToolResult{}, err
	}
	m := ts.newMemory(caller, args.Key)
	m.Content, m.Tags = args.Content, args.Tags
	var err error
	if m.Expires, err = args.expires(m.Updated); err != nil {
		return sessions.ToolResult{}, err
	}
	d, _ := ts.Roster.Definition(caller.Agent)
	save := withLimits(d, m)
	err = ts.Store.SaveMemory(ctx, save)
	if errors.Is(err, sessions.ErrMemoryFull) {
		return sessions.ToolResult{}, fmt.Errorf("content: no room left: this conversation may keep %d memories and %d bytes at its level, earlier versions included; memory_delete makes room, and your owner can raise agents.list[].memory.maxEntries and maxBytes",
			save.MaxEntries, save.MaxBytes)
	}
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("save memory", err)
	}
	return memoryDone(caller, map[string]any{"saved": true, "key": m.Key, "classification": m.Label.Level()})
}

// withLimits is a save within the limits of the agent.
func withLimits(d roster.Definition, m sessions.Memory) sessions.MemorySave {
	save := sessions.MemorySave{Memory: m, MaxEntries: d.Memory.MaxEntries, MaxBytes: d.Memory.MaxBytes}
	if save.MaxEntries == 0 {
		save.MaxEntries = memoryEntries
	}
	if save.MaxBytes == 0 {
		save.MaxBytes = memoryBytes
	}
	return save
}

// Remember saves a memory for an agent on behalf of a caller of the API, which chooses its label and audience. An empty agent is
// the default one. What the caller can correct is a [*request.Error].
func (ts *Tools) Remember(ctx context.Context, agent string, m sessions.Memory, audit []sessions.AuditEntry) error {
	d, ok := ts.Roster.Definition(agent)
	if agent == "" {
		d, ok = ts.Roster.Default()
	}
	if !ok {
		return &request.Error{Field: "agent", Text: fmt.Sprintf("there is no agent %q; GET /v1/agents lists them", agent)}
	}
	args := memorySaveArgs{Key: m.Key, Content: m.Content, Tags: m.Tags}
	if err := args.check(); err != nil {
		return &request.Error{Text: err.Error()}
	}
	if !m.Expires.IsZero() && !m.Expires.After(m.Updated) {
		return &request.Error{Field: "expires_at", Text: fmt.Sprintf("is in the past; it is now %s", m.Updated.UTC().Format(time.RFC3339))}
	}
	m.Namespace = d.Namespace()
	save := withLimits(d, m)
	save.Audit = audit
	err := ts.Store.SaveMemory(ctx, save)
	if errors.Is(err, sessions.ErrMemoryFull) {
		return &request.Error{Field: "content", Text: fmt.Sprintf("no room left: your token may keep %d memories and %d bytes for this agent at this level, earlier versions included; delete some, or raise agents.list[].memory.maxEntries and maxBytes",
			save.MaxEntries, save.MaxBytes)}
	}
	return err
}

func (ts *Tools) deleteMemory(ctx context.Context, call tools.Call[memoryDeleteArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	if err := checkMemoryKey(args.Key); err != nil {
		return sessions.ToolResult{}, err
	}
	err := ts.Store.DeleteMemory(ctx, sessions.MemoryDelete{Memory: ts.newMemory(caller, args.Key), Uncover: args.Uncover})
	if errors.Is(err, sessions.ErrNotFound) {
		return sessions.ToolResult{}, fmt.Errorf("key: there is no memory %q that this conversation can delete", args.Key)
	}
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("delete memory", err)
	}
	return memoryDone(caller, map[string]any{"deleted": true, "key": args.Key})
}

// memoryDone is the result of a write. It contains nothing that the caller did not provide.
func memoryDone(caller sessions.Caller, result map[string]any) (sessions.ToolResult, error) {
	text, err := tools.JSON(result)
	return sessions.ToolResult{Text: text, Label: flow.NewLabel(caller.Taint.Level(), flow.Trusted)}, err
}

func breaksLine(r rune) bool { return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) }
