package toolset

import (
	"context"
	"slices"
	"sync"

	"sluice/internal/agent/roster"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Kit is what a session may use. The lists are not to be changed: sessions share them.
type Kit struct {
	Tools      []sessions.Tool
	Specs      []sessions.ToolSpec // of Tools; nil: nobody has made them yet
	Permission sessions.PermissionMode
}

// Kit gives the tools and the permission mode of a session of an agent.
func (ts *Toolset) Kit(ctx context.Context, d roster.Definition, record sessions.Record) (Kit, error) {
	starter, err := ts.requester(ctx, d, record)
	if err != nil {
		return Kit{}, err
	}
	kit := Kit{Permission: permission(d, starter)}
	passing := ts.passing(d)
	if record.SpawnedBy == "" && len(passing) == 0 {
		kit.Tools, kit.Specs = ts.shared.of(ts, d)
		return kit, nil
	}
	kit.Tools = ts.allowed(slices.Concat(ts.own, ts.web(), passing), d, starter, record)
	return kit, nil
}

// Shown gives what a new session of an agent may use, as far as a reader of this level may know of it. The list is a copy.
func (ts *Toolset) Shown(ctx context.Context, d roster.Definition, reader flow.Level) (Kit, error) {
	kit, err := ts.Kit(ctx, d, sessions.Record{})
	if err != nil {
		return Kit{}, err
	}
	tools := slices.DeleteFunc(slices.Clone(kit.Tools), func(t sessions.Tool) bool { return above(t.Flow, reader) })
	return Kit{Tools: tools, Permission: kit.Permission}, nil
}

// sharedKits has the tools of each agent that all of its sessions have alike: those of an agent fill more memory than a short conversation.
// It is safe for concurrent use.
type sharedKits struct {
	mu      sync.Mutex
	made    *roster.Settings // with which the lists were made
	byAgent map[string]sharedKit
}

type sharedKit struct {
	tools []sessions.Tool
	specs []sessions.ToolSpec
}

// of gives the tools of an agent. They are made once for each change of the settings.
func (k *sharedKits) of(ts *Toolset, d roster.Definition) ([]sessions.Tool, []sessions.ToolSpec) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := ts.Roster.Settings()
	if k.made != now {
		k.made, k.byAgent = now, map[string]sharedKit{}
	}
	kit, ok := k.byAgent[d.ID]
	if !ok {
		if current, ok := ts.Roster.Definition(d.ID); ok {
			d = current // the caller may have read it before a change
		}
		kit.tools = slices.Clip(ts.allowed(slices.Concat(ts.own, ts.web()), d, d, sessions.Record{}))
		for _, t := range kit.tools {
			kit.specs = append(kit.specs, t.Spec)
		}
		k.byAgent[d.ID] = kit
	}
	return kit.tools, kit.specs
}
