// Package roster holds the configured agents and the settings that all of them share.
package roster

import (
	"slices"
	"sync/atomic"
	"time"

	"sluice/internal/skill"
	"sluice/internal/web"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Settings is the configuration of the agents.
type Settings struct {
	Agents     []Definition
	Keyer      sessions.Keyer
	Owners     []string // principals, "<channel>:<user id>"
	Visibility Visibility
	// AgentToAgent says which agents may speak to each other.
	AgentToAgent AgentToAgent
	// SubagentTools are the tools of sub-agents: all but the session tools, unless Allow names them, and without
	// those that Deny names.
	SubagentTools ToolFilter
	Web           Web
	Skills        skill.Settings
	SkillChars    int           // characters of a prompt that say which skills there are; 0: none
	RunTimeout    time.Duration // of a run without a limit of its own; 0: none
	// Monitor checks what their tools read and write; required.
	Monitor *policy.Monitor
}

// Visibility says which sessions an agent's tools can see. Labels restrict it further.
type Visibility string

// The visibilities. Tree is the own session and those that it started; an owner who speaks in the agent's main
// session sees all sessions of that agent.
const (
	VisibleSelf  Visibility = "self"
	VisibleTree  Visibility = "tree"
	VisibleAgent Visibility = "agent"
	VisibleAll   Visibility = "all"
)

// AgentToAgent says which agents may speak to each other.
type AgentToAgent struct {
	Enabled bool
	Allow   []string // patterns of agent ids; empty allows any
}

// Allows reports whether an agent may talk to other agents.
func (a AgentToAgent) Allows(agent string) bool {
	return len(a.Allow) == 0 || policy.NameMatches(a.Allow, agent)
}

// Web is the configuration of the tool web_fetch.
type Web struct {
	Enabled        bool
	Classification flow.Level // the highest level that may be sent to a server, and the level of its pages
	Rules          web.Rules
}

// Roster has the current settings. It is safe for concurrent use.
type Roster struct{ settings atomic.Pointer[Settings] }

// New makes a Roster.
func New(s Settings) *Roster {
	r := &Roster{}
	r.Configure(s)
	return r
}

// Configure replaces the settings.
func (r *Roster) Configure(s Settings) {
	s.Agents = slices.Clone(s.Agents)
	for i := range s.Agents {
		s.Agents[i].parse()
	}
	r.settings.Store(&s)
}

// Settings are the current settings. Callers must not change them.
func (r *Roster) Settings() *Settings { return r.settings.Load() }

// Definition finds an agent by its id.
func (r *Roster) Definition(agent string) (Definition, bool) {
	for _, d := range r.Settings().Agents {
		if d.ID == agent {
			return d, true
		}
	}
	return Definition{}, false
}

// Default is the agent for everything that names no agent.
func (r *Roster) Default() (Definition, bool) {
	for _, d := range r.Settings().Agents {
		if d.Default {
			return d, true
		}
	}
	return Definition{}, false
}

// ModelName is the name of an agent's model; empty if there is no such agent.
func (r *Roster) ModelName(agent string) string {
	d, _ := r.Definition(agent)
	return d.Model
}

// IsProgram reports whether a program works an agent's runs, so that its sessions have no model.
func (r *Roster) IsProgram(agent string) bool {
	d, _ := r.Definition(agent)
	return d.Program != nil
}

// MayStart reports whether an agent may start another one as its sub-agent. It may always start itself.
func (r *Roster) MayStart(agent, child string) bool {
	if agent == child {
		return true
	}
	d, _ := r.Definition(agent)
	return slices.Contains(d.AllowAgents, child) || slices.Contains(d.AllowAgents, "*")
}
