// Package skills has the tools over the skills of an agent, and the part of the prompt that lists them.
//
// A session sees the skills up to its own level. Reading one that is untrusted makes the session untrusted; only then can it
// run that skill's scripts. So the prompt of a trusted session has the names of untrusted skills, which have no room for
// instructions, and not their descriptions.
package skills

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"sluice/internal/agent/roster"
	"sluice/internal/agent/tools"
	"sluice/internal/skill"
	"sluice/policy/flow"
	"sluice/sessions"
)

// The names of the tools.
const (
	ReadName = "skill_read"
	RunName  = "skill_run"
)

// Script is a script of a skill that is to run in the sandbox.
type Script struct {
	Command []string
	Stdin   string
	Seconds int
	Folder  string     // of the skill, an absolute path
	At      string     // where the script sees it
	Label   flow.Label // of the skill
}

// Tools are the tools over skills.
type Tools struct {
	Keeper *skill.Keeper // nil: there are no skills
	Roster *roster.Roster
	Run    func(ctx context.Context, caller sessions.Caller, s Script) (sessions.ToolResult, error)
	Now    func() time.Time
	Log    *slog.Logger
}

// Is reports whether a tool is one of this package.
func Is(t sessions.Tool) bool { return t.Spec.Name == ReadName || t.Spec.Name == RunName }

// Of gives the tools of an agent: none unless it has skills.
func (ts *Tools) Of(d roster.Definition) []sessions.Tool {
	if ts.Keeper == nil || !ts.Keeper.Has(d.Workspace) {
		return nil
	}
	return ts.All()
}

// All gives the tools.
func (ts *Tools) All() []sessions.Tool {
	return []sessions.Tool{
		tools.New(sessions.Tool{
			Spec: sessions.ToolSpec{Name: ReadName, Description: "Reads the instructions of a skill, or another of its text files. Without a name, lists the skills with their descriptions."},
			Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone}, Idempotent: true,
		}, tools.Work[readArgs]{Run: ts.read}),
		tools.New(sessions.Tool{
			Spec: sessions.ToolSpec{
				Name:        RunName,
				Description: "Runs a script of a skill in the sandbox, in the workspace, and returns its output. The skill's files are at /skills/<name>, read-only.",
			},
			Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowSession}, Timeout: runTimeout,
		}, tools.Work[runArgs]{Run: ts.run}),
	}
}

// agentOf is an agent as skills see it.
func agentOf(d roster.Definition) skill.Agent {
	return skill.Agent{ID: d.ID, Workspace: d.Workspace, Level: d.FileLevel}
}

// sees reports whether a session that has learned so much sees a skill.
func sees(taint flow.Label, e skill.Entry) bool {
	return e.State != skill.Missing && flow.CanFlow(e.Label.Level(), taint.Level())
}

// find finds a skill that the caller may use.
func (ts *Tools) find(ctx context.Context, caller sessions.Caller, name string) (skill.Entry, error) {
	d, _ := ts.Roster.Definition(caller.Agent)
	e, err := ts.Keeper.Get(ctx, agentOf(d), name)
	switch {
	case errors.Is(err, skill.ErrNotFound), err == nil && !sees(caller.Taint, e):
		return skill.Entry{}, fmt.Errorf("name: there is no skill %q; %s without a name lists the skills", name, ReadName)
	case err != nil:
		return skill.Entry{}, tools.Inside("read skill", err)
	case !e.Usable():
		ts.Log.Warn("skill refused", "agent", caller.Agent, "skill", name, "state", string(e.State), "reason", e.Problem)
		return skill.Entry{}, fmt.Errorf("name: the skill %q can't be used: its content is not what the owner added; the owner can see more with sluice skills check", name)
	}
	return e, nil
}

// seen are the usable skills that a session sees.
func (ts *Tools) seen(ctx context.Context, d roster.Definition, taint flow.Label) ([]skill.Entry, error) {
	entries, err := ts.Keeper.List(ctx, agentOf(d))
	if err != nil {
		return nil, tools.Inside("read skills", err)
	}
	return slices.DeleteFunc(entries, func(e skill.Entry) bool { return !e.Usable() || !sees(taint, e) }), nil
}
