// Package toolset decides which tools a session has, runs their calls, and says what a call would do.
//
// Goroutines: one for each call of a tool, see leftovers. The caller waits for it, but not much longer than the call may
// take: a tool that does not check its context is left behind.
package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/agent/roster"
	"sluice/policy"
	"sluice/sessions"
)

// SessionReader reads a session by its id.
type SessionReader interface {
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
}

// Config has the dependencies of a Toolset. All fields but Remote, Skills and IsSkill are required.
type Config struct {
	Roster *roster.Roster
	Store  SessionReader
	Own    []sessions.Tool        // those of every agent
	Web    func() []sessions.Tool // as configured now
	Remote func() []sessions.Tool // current tools of external servers; may be nil
	// Skills are the tools of an agent that has skills now, and IsSkill tells them from others; may be nil.
	Skills     func(d roster.Definition) []sessions.Tool
	IsSkill    func(t sessions.Tool) bool
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Toolset decides which tools a session has. It is safe for concurrent use.
type Toolset struct {
	Roster *roster.Roster
	Store  SessionReader
	Log    *slog.Logger
	own    []sessions.Tool
	web    func() []sessions.Tool
	remote func() []sessions.Tool
	skills func(d roster.Definition) []sessions.Tool
	skill  func(t sessions.Tool) bool
	runner *toolRunner
	shared sharedKits
}

// New creates a Toolset. It adds the tool simulate_tool_call to those of every agent.
func New(c Config) (*Toolset, error) {
	ts := &Toolset{Roster: c.Roster, Store: c.Store, Log: c.Log, remote: c.Remote, skills: c.Skills, skill: c.IsSkill, runner: newToolRunner(c.Log, c.Now, c.Registerer)}
	ts.own = ts.guarded(append(slices.Clone(c.Own), ts.simulateTool()))
	ts.web = func() []sessions.Tool { return ts.guarded(c.Web()) }
	return ts, checkTools(ts.own)
}

// guarded lets the runner run the tools.
func (ts *Toolset) guarded(tools []sessions.Tool) []sessions.Tool {
	for i := range tools {
		if name := tools[i].Spec.Name; tools[i].SubAgent == nil {
			tools[i].Run = ts.runner.guarded(name, tools[i].Run)
		} else {
			tools[i].SubAgent = ts.runner.guardedPlan(name, tools[i].SubAgent)
		}
	}
	return tools
}

// fileTools are the tools that need a workspace.
var fileTools = []string{"read", "list", "find", "grep", "write", "edit", "attach", roster.ExecName, "skill_run"}

// Refresh gives a session that may have been opened long ago the tools that come and go: those of external servers and of skills.
func (ts *Toolset) Refresh(ctx context.Context, s *sessions.Session) error {
	record := s.Record()
	d, ok := ts.Roster.Definition(record.Agent)
	if !ok {
		return nil
	}
	now := ts.passing(d)
	if len(now) > 0 {
		starter, err := ts.requester(ctx, d, record)
		if err != nil {
			return err
		}
		now = ts.allowed(now, d, starter, record)
	}
	s.ReplaceTools(func(t sessions.Tool) bool { return t.Remote != nil || ts.skill != nil && ts.skill(t) }, now)
	return nil
}

// passing are the tools that come and go.
func (ts *Toolset) passing(d roster.Definition) []sessions.Tool {
	now := ts.remoteTools()
	if ts.skills != nil {
		now = append(now, ts.guarded(ts.skills(d))...)
	}
	return now
}

// sessionTools are the tools that sub-agents do not have by default.
var sessionTools = []string{
	"sessions_list", "sessions_history", "sessions_send", "session_status", "agents_list", "message", "attach",
	"cron_add", "cron_list", "cron_show", "cron_update", "cron_pause", "cron_resume", "cron_run", "cron_remove", "cron_history",
	"alert_fire", "alert_list", "alert_ack", "alert_resolve",
}

// remoteTools are the current tools of external servers. A tool without a declared data flow, or with the name of
// another tool, is left out.
func (ts *Toolset) remoteTools() []sessions.Tool {
	if ts.remote == nil {
		return nil
	}
	tools := slices.Clone(ts.remote())
	if len(tools) == 0 {
		return nil
	}
	if err := checkTools(append(slices.Clone(ts.own), tools...)); err != nil {
		ts.Log.Error("tools of MCP servers not used", "err", err)
		return nil
	}
	return ts.guarded(tools)
}

// allowed selects the tools that a session has; it changes the list. A sub-agent never starts others, and uses only
// those external tools that the agent that started it has, too.
func (ts *Toolset) allowed(tools []sessions.Tool, d, starter roster.Definition, record sessions.Record) []sessions.Tool {
	tools = slices.DeleteFunc(tools, func(t sessions.Tool) bool {
		return !d.Tools.Has(t.Spec.Name, d.Sandbox) || (d.Workspace == "" && slices.Contains(fileTools, t.Spec.Name))
	})
	for i := range tools {
		if d.FileLevel.Valid() && slices.Contains(fileTools, tools[i].Spec.Name) {
			tools[i].Flow = d.FileFlow(tools[i].Flow)
		}
	}
	if record.SpawnedBy == "" {
		return tools
	}
	f := ts.Roster.Settings().SubagentTools
	return slices.DeleteFunc(tools, func(t sessions.Tool) bool {
		name := t.Spec.Name
		return name == "sessions_spawn" || t.Flow.Outside() && !starter.Tools.Has(name, starter.Sandbox) || policy.NameMatches(f.Deny, name) || (slices.Contains(sessionTools, name) && !policy.NameMatches(f.Allow, name))
	})
}

// checkTools refuses a tool without a declared data flow.
func checkTools(tools []sessions.Tool) error {
	seen := map[string]bool{}
	for _, t := range tools {
		name := t.Spec.Name
		switch {
		case name == "" || t.Spec.Description == "" || t.Run == nil && t.SubAgent == nil:
			return fmt.Errorf("tool %q: name, description and run are required", name)
		case seen[name]:
			return fmt.Errorf("tool %q: two tools have this name", name)
		case t.Flow.Check() != nil:
			return fmt.Errorf("tool %q: %w", name, t.Flow.Check())
		case !json.Valid(t.Spec.Parameters):
			return fmt.Errorf("tool %q: its parameters are not a JSON Schema", name)
		}
		seen[name] = true
	}
	return nil
}

// requester is the agent that started a session; its own agent if no other did. A missing agent has no tools.
func (ts *Toolset) requester(ctx context.Context, d roster.Definition, record sessions.Record) (roster.Definition, error) {
	if record.SpawnedBy == "" {
		return d, nil
	}
	nobody := roster.Definition{Permission: sessions.PermissionDeny, Tools: roster.ToolFilter{Deny: []string{"*"}}}
	parent, err := ts.Store.Session(ctx, record.SpawnedBy)
	if errors.Is(err, sessions.ErrNotFound) {
		return nobody, nil
	}
	if err != nil {
		return nobody, fmt.Errorf("read requester of sub-agent: %w", err)
	}
	if starter, ok := ts.Roster.Definition(parent.Agent); ok {
		return starter, nil
	}
	return nobody, nil
}

// permission is the permission mode of a session. A sub-agent's mode is never weaker than that of its starter.
func permission(d, starter roster.Definition) sessions.PermissionMode {
	return cmp.Or(d.Permission, sessions.PermissionAuto).Narrow(cmp.Or(starter.Permission, sessions.PermissionAuto))
}
