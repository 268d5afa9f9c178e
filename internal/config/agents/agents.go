// Package agents has the part of the configuration that says which agents there are, and who works for them.
package agents

import (
	"cmp"

	"sluice/internal/config/automation"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Agents are the agents.
type Agents struct {
	Defaults Defaults `yaml:"defaults" doc:"Settings for agents that do not set their own."`
	List     []Agent  `yaml:"list" doc:"The agents. Empty: one agent, main."`
}

// Defaults are the settings that agents share.
type Defaults struct {
	Model           string               `yaml:"model" chain:"true" doc:"<provider>/<model>, or a list of them: docs/models.md. Default: models.default."`
	Compaction      Compaction           `yaml:"compaction,omitempty" doc:"How Sluice summarizes long conversations."`
	SystemPrompt    string               `yaml:"systemPrompt" doc:"The system prompt, a template: docs/workspace.md. Default: a short prompt for an assistant in a chat that replies briefly and may stay silent, followed by the instruction file of its workspace."`
	Thinking        string               `yaml:"thinking" enum:"off,low,medium,high" doc:"How much models may reason before they reply. Default: the provider's."`
	Effort          string               `yaml:"effort,omitempty" enum:"off,low,medium,high" doc:"Another name of thinking. Give one of the two."`
	Temperature     sessions.Temperature `yaml:"temperature" doc:"How freely models choose their words: 0 gives the most likely words, higher numbers more variety. A number from 0 to 2. Providers of kind anthropic take at most 1, and none while the model reasons (thinking). Default: the provider's."`
	MaxOutputTokens int                  `yaml:"maxOutputTokens" min:"0" max:"1000000" doc:"Maximum tokens of one reply. 0: the provider's own limit."`
	Verbose         string               `yaml:"verbose" enum:"off,on,full" doc:"What people see of the work on a reply. off: nothing. on: the tools that are called. full: their results too."`
	Permission      string               `yaml:"permission" enum:"ask,auto,deny" doc:"Calls of tools that do more than read. ask: they wait for an owner's approval. auto: they run. deny: they are refused."`
	Workspace       string               `yaml:"workspace" doc:"Folder that contains one folder for each agent, named by its id. Default: <state>/workspaces."`
	FileAccess      FileAccess           `yaml:"fileAccess,omitempty" doc:"What a session in which people other than an owner speak can see of the files that all sessions of its agent share. Default: nothing; the session has only its own folder."`

	Sandbox   Sandbox          `yaml:"sandbox" doc:"How commands of the tool exec run, and which sessions the tools can see."`
	Tools     Tools            `yaml:"tools" doc:"Which tools the agents have."`
	Memory    Memory           `yaml:"memory" doc:"What the agents remember across sessions: docs/memory.md."`
	Subagents SubagentDefaults `yaml:"subagents" doc:"Limits for sub-agents."`
}

// Compaction says how a long conversation is shortened: a summary replaces its older part.
type Compaction struct {
	Model string `yaml:"model" chain:"true" doc:"<provider>/<model>, or a list of them, that writes the summaries. It needs the level of the conversation, else the conversation's own model writes them. Default: the conversation's own model."`
}

// FileAccess are the parts of an agent's shared files that a session sees.
type FileAccess struct {
	Read  []string `yaml:"read,omitempty" doc:"Folders and files that it can read, relative to the shared folder; \"\" is all of it."`
	Write []string `yaml:"write,omitempty" doc:"Those that it can read and write."`
}

// Sessions is the access as sessions have it; an error names a wrong entry.
func (a FileAccess) Sessions() (sessions.FileAccess, error) {
	if a.Read == nil && a.Write == nil {
		return sessions.FileAccess{Read: []string{}, Write: []string{}}, nil
	}
	return sessions.FileAccess{Read: a.Read, Write: a.Write}.Checked()
}

// Sandbox says how commands from agents' tools run.
type Sandbox struct {
	Mode string `yaml:"mode" enum:"off,optional,required" doc:"How commands run. optional: in a sandbox if bubblewrap works here, otherwise as with off. off: as the gateway itself, and only for an agent whose tools.allow names exec. required: in a sandbox or not at all. Default: optional; for agents of kind command, required."`

	SessionToolsVisibility string `yaml:"sessionToolsVisibility" enum:"spawned,all" doc:"The most that the session tools of a sandboxed session (mode optional or required) can see. spawned: its own session and those it started. all: what tools.sessions.visibility permits. Default: spawned if the configuration sets mode, otherwise all."`
}

// Completed fills in what an agent leaves out. A sandbox that nobody asked for limits commands and nothing else.
func (s Sandbox) Completed(d Sandbox) Sandbox {
	s.Mode = cmp.Or(s.Mode, d.Mode)
	visible := "spawned"
	if s.Mode == "" {
		s.Mode, visible = string(sessions.SandboxOptional), "all"
	}
	s.SessionToolsVisibility = cmp.Or(s.SessionToolsVisibility, d.SessionToolsVisibility, visible)
	return s
}

// Tools are the tools of an agent.
type Tools struct {
	Allow []string `yaml:"allow" doc:"The only tools that the agent has: names, or patterns with *, such as mcp_github_*. Default: all. To have exec outside a sandbox, name it here: [\"*\", exec]."`
	Deny  []string `yaml:"deny" doc:"Tools that the agent does not have: names, or patterns with *."`
}

// Memory says what agents remember across sessions.
type Memory struct {
	Namespace   string `yaml:"namespace" doc:"Agents with the same namespace share memories. a-z 0-9 _ -. Default: the agent's id, so each agent has its own."`
	Audience    string `yaml:"audience" enum:"own,shared" doc:"own: a conversation reads what was saved in it, and only owners in private read everything. shared: every conversation with the agent reads all memories, up to its level."`
	MaxEntries  int    `yaml:"maxEntries" min:"0" doc:"Maximum memories of one conversation at one level. 0 for an agent: as in agents.defaults."`
	MaxBytes    int    `yaml:"maxBytes" min:"0" doc:"Maximum bytes of one conversation's memories at one level, old versions included. 0 for an agent: as in agents.defaults."`
	RecallChars int    `yaml:"recallChars" min:"0" max:"100000" doc:"Characters of memories that are added to each prompt. 0 for an agent: as in agents.defaults; 0 there: none."`
}

// SubagentDefaults limit sub-agents.
type SubagentDefaults struct {
	ArchiveAfterMinutes int `yaml:"archiveAfterMinutes" min:"0" max:"525600" doc:"Minutes after its report when a sub-agent's session is archived: nothing works in it any longer, and its transcript stays readable until retention.archived. 0: never."`
	MaxConcurrent       int `yaml:"maxConcurrent" min:"1" max:"1000" doc:"Sub-agents that work at the same time in one gateway process; others wait."`
	MaxChildren         int `yaml:"maxChildren" min:"1" max:"100" doc:"Sub-agents of one session that have not reported yet."`
}

// Subagents says which agents an agent may start.
type Subagents struct {
	AllowAgents []string `yaml:"allowAgents" doc:"Ids of agents that it may start as sub-agents besides itself; \"*\" means any."`
}

// Agent is one agent.
type Agent struct {
	ID              string               `yaml:"id" doc:"Name of the agent in session keys: a-z 0-9 _ -. Required."`
	Default         bool                 `yaml:"default" doc:"Handles messages that no binding matches. Default: the first agent."`
	Name            string               `yaml:"name" doc:"Name of the agent for people. Default: its id."`
	Kind            string               `yaml:"kind" enum:"loop,nats,command,a2a" doc:"Who works its runs: docs/programs.md. loop: the built-in agent, with its model. nats: a program that is connected to the bus. command: a program that is started for each run. a2a: a remote agent that speaks A2A."`
	SystemPrompt    string               `yaml:"systemPrompt" doc:"Default: as in agents.defaults."`
	Model           string               `yaml:"model" chain:"true" doc:"Default: as in agents.defaults. Only for kind loop."`
	Compaction      Compaction           `yaml:"compaction,omitempty" doc:"Keys that are not set: as in agents.defaults."`
	Thinking        string               `yaml:"thinking" enum:"off,low,medium,high" doc:"Default: as in agents.defaults."`
	Effort          string               `yaml:"effort,omitempty" enum:"off,low,medium,high" doc:"Another name of thinking. Give one of the two."`
	Temperature     sessions.Temperature `yaml:"temperature" doc:"Default: as in agents.defaults."`
	MaxOutputTokens int                  `yaml:"maxOutputTokens" min:"0" max:"1000000" doc:"0: as in agents.defaults."`
	Verbose         string               `yaml:"verbose" enum:"off,on,full" doc:"Default: as in agents.defaults."`
	Permission      string               `yaml:"permission" enum:"ask,auto,deny" doc:"Default: as in agents.defaults."`
	Workspace       string               `yaml:"workspace" doc:"The agent's folder: its instruction file, and below it one folder for each of its sessions. Default: the folder named by its id in that of agents.defaults."`

	WorkspaceLevel flow.Level `yaml:"workspaceClassification,omitempty" doc:"Level of the files of the agent's sessions. A session that reads a file rises to this level; a session above it cannot write files. Default: the files in a session's own folder are as secret as the session; shared files are PUBLIC."`
	FileAccess     FileAccess `yaml:"fileAccess,omitempty" doc:"As in agents.defaults."`

	Sandbox   Sandbox   `yaml:"sandbox" doc:"Keys that are not set: as in agents.defaults."`
	Tools     Tools     `yaml:"tools" doc:"If allow or deny is set, it replaces the one in agents.defaults."`
	Memory    Memory    `yaml:"memory" doc:"Keys that are not set: as in agents.defaults."`
	Subagents Subagents `yaml:"subagents" doc:"Which agents it may start."`

	Heartbeat automation.Heartbeat `yaml:"heartbeat,omitempty" doc:"How the agent checks by itself whether there is something to say: docs/automation.md."`

	Program `yaml:",inline"`

	Publish Publish `yaml:"publish,omitempty" doc:"By which protocols other programs may talk to it, apart from Sluice's own API."`
}

// A2A says how other agents that speak A2A are served.
type A2A struct {
	Push Push `yaml:"push" doc:"Notifications of the ends of tasks: docs/a2a.md."`
}

// Push says where notifications may go.
type Push struct {
	Hosts          []string   `yaml:"hosts" doc:"Hosts to which clients may have notifications sent, for example hooks.example.com or *.example.com. Default: no host, so that notifications are refused."`
	Private        bool       `yaml:"private" doc:"Allow hosts in private networks and on this machine, and addresses that begin with http."`
	Classification flow.Level `yaml:"classification,omitempty" doc:"Highest level of what a notification may contain. A notification about anything above it has only the state of the task. Default: PUBLIC."`
}

// Level is the highest level of what a notification may contain.
func (p *Push) Level() flow.Level {
	if !p.Classification.Valid() {
		return flow.Public
	}
	return p.Classification
}

// Publish says by which protocols programs find and use an agent.
type Publish struct {
	A2A    bool `yaml:"a2a,omitempty" doc:"Other agents reach it with A2A: docs/a2a.md."`
	OpenAI bool `yaml:"openai,omitempty" doc:"The agent is a model of the OpenAI-compatible API: docs/openai.md."`
}

// Has reports whether an agent has a tool.
func (a *Agent) Has(tool string) bool {
	return !policy.NameMatches(a.Tools.Deny, tool) && (len(a.Tools.Allow) == 0 || policy.NameMatches(a.Tools.Allow, tool))
}
