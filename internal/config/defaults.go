package config

import (
	"cmp"
	"path/filepath"
	"time"

	"sluice/internal/config/address"
	"sluice/internal/config/agents"
	"sluice/internal/config/alerts"
	"sluice/internal/config/automation"
	"sluice/internal/config/models"
	"sluice/internal/config/telemetry"
	"sluice/internal/hostos"
	"sluice/policy/flow"
)

// Names that the program itself uses.
const (
	OfflineProvider = models.Offline
	DefaultModel    = models.Default
	DefaultListen   = "127.0.0.1:8484"
	telegramAPI     = "https://api.telegram.org"
	DefaultAgent    = "main"
)

// Default returns the configuration of an empty file before complete: the state folder is still relative to "~", and
// values that follow from other keys are empty.
func Default() *Config {
	return &Config{
		Gateway: Gateway{Listen: DefaultListen, Classification: flow.Restricted},
		State:   hostos.DataFolder(), Log: Log{Level: "info", Format: "text"}, Nodes: automation.Nodes{Pairing: automation.PairingApproval},
		Owners:   []string{"webchat:local"},
		Channels: defaultChannels(),
		Models:   Models{Default: DefaultModel},
		Session: Session{
			Scope: "per-sender", DMScope: "main", MainKey: "main",
			Queue:        Queue{Mode: "collect", Cap: 20, Drop: "old", DebounceMs: 500},
			Reset:        Reset{Mode: "none", AtHour: 4},
			SendPolicy:   SendPolicy{Default: "allow"},
			RunTimeout:   Duration(10 * time.Minute),
			AgentToAgent: AgentToAgent{MaxPingPongTurns: 5, MaxHops: 6, MaxSteps: 60, MaxTokens: 1_000_000, MaxAge: Duration(time.Hour)},
		},
		Tools: Tools{
			Sessions:     SessionTools{Visibility: "tree"},
			AgentToAgent: ToolsAgentToAgent{Enabled: true, Allow: []string{"*"}},
			Web:          WebTools{Classification: flow.Public, Allow: []string{"*"}, MaxBytes: 2 << 20},
		},
		Agents: Agents{Defaults: agents.Defaults{
			Permission: "auto", Verbose: "off",
			Memory:    agents.Memory{Audience: "own", MaxEntries: 200_000, MaxBytes: 256 << 20, RecallChars: 4000},
			Subagents: agents.SubagentDefaults{ArchiveAfterMinutes: 60, MaxConcurrent: 8, MaxChildren: 5},
		}},
		Skills:    agents.Skills{PromptChars: 4000},
		Policy:    Policy{Escalation: "ask", Clearance: flow.Restricted},
		Telemetry: telemetry.Telemetry{Sample: "1.0"},
		Alerts:    alerts.Default(), Retention: Retention{Events: "90d", Runs: "90d", Deliveries: "90d", Archived: "30d", Memories: "365d", Media: "30d", Usage: "90d"},
		Limits: Limits{
			DeliveryLife: Duration(24 * time.Hour), MaxMessageBytes: 256 << 10, MaxMediaBytes: 20 << 20,
			HistoryKeep: 50, RunAttempts: 5, Partitions: 16,
			WorkspaceBytes: 5 << 30, SessionBytes: 1 << 30, ReserveBytes: 1 << 30, DiskWarnBytes: 2 << 30, DiskStopBytes: 256 << 20, CommandMemory: 1 << 30, CommandProcesses: 256,
		},
	}
}

func defaultChannels() Channels {
	access := Access{Classification: flow.Public, DMPolicy: "pairing", GroupPolicy: "allowlist", AllowBots: "off", OnUnknown: "resend"}
	return Channels{
		Telegram: Telegram{Access: access}, Slack: Slack{Access: access}, Discord: Discord{Access: access},
		Webchat: Webchat{Enabled: true},
	}
}

// defaulter is an element of a list or map with defaults.
type defaulter interface{ setDefaults() }

var (
	_ defaulter = (*APIToken)(nil)
	_ defaulter = (*Group)(nil)
	_ defaulter = (*Topic)(nil)
	_ defaulter = (*TelegramAccount)(nil)
	_ defaulter = (*SlackAccount)(nil)
	_ defaulter = (*DiscordAccount)(nil)
	_ defaulter = (*Reset)(nil)
	_ defaulter = (*MCPServer)(nil)
	_ defaulter = (*NamedSecret)(nil)
)

// A token is given to others, so by default it shows and does as little as possible.
func (t *APIToken) setDefaults() { t.Classification, t.Role = flow.Public, "viewer" }

func (s *NamedSecret) setDefaults() { s.Classification = flow.Internal }

func (g *Group) setDefaults() { g.RequireMention = true }

func (r *Reset) setDefaults() { r.Mode, r.AtHour = "none", 4 }

func (t *Topic) setDefaults() { t.RequireMention = true }

func (a *TelegramAccount) setDefaults() {
	a.APIBase, a.Mode, a.RichMessages = telegramAPI, "polling", "auto"
}

func (a *SlackAccount) setDefaults() { a.APIBase, a.Mode = "https://slack.com/api/", "socket" }

func (a *DiscordAccount) setDefaults() { a.APIBase = "https://discord.com/api/v10" }

// Unlike a model, an MCP server gets only public data by default.
func (m *MCPServer) setDefaults() { m.Classification, m.TimeoutSeconds = flow.Public, 60 }

// complete fills in what follows from other keys.
func (c *Config) complete(home string) {
	if rest, ok := trimHome(c.State); ok && home != "" {
		c.State = filepath.Join(home, rest)
	}
	if c.Agents.Defaults.Model == "" {
		c.Agents.Defaults.Model = c.Models.Default
	}
	c.completeAgents(home)
	c.completeLevels()
	c.completeWebhooks()
}

func trimHome(path string) (string, bool) {
	if path == "~" {
		return "", true
	}
	if len(path) > 1 && path[:2] == "~/" {
		return path[2:], true
	}
	return path, false
}

func (c *Config) completeAgents(home string) {
	d := &c.Agents.Defaults
	d.Thinking = cmp.Or(d.Thinking, d.Effort)
	d.Workspace = folder(cmp.Or(d.Workspace, filepath.Join(c.State, "workspaces")), home)
	list := c.Agents.List
	if len(list) == 0 {
		list = []Agent{{ID: DefaultAgent, Name: "Main"}}
		c.Agents.List = list
	}
	found := false
	for i := range list {
		a := &list[i]
		found = found || a.Default
		a.Name = cmp.Or(a.Name, a.ID)
		a.Model = cmp.Or(a.Model, c.Agents.Defaults.Model)
		a.Kind = cmp.Or(a.Kind, agents.KindLoop)
		if a.Kind == agents.KindCommand { // its owner has to say that it needs no sandbox
			a.Sandbox.Mode = cmp.Or(a.Sandbox.Mode, "required")
		}
		completeAgent(a, d, home)
	}
	if !found {
		list[0].Default = true
	}
}

// completeAgent fills in the settings that an agent leaves out.
func completeAgent(a *Agent, d *agents.Defaults, home string) {
	a.SystemPrompt = cmp.Or(a.SystemPrompt, d.SystemPrompt)
	a.Compaction.Model = cmp.Or(a.Compaction.Model, d.Compaction.Model)
	a.Thinking, a.Verbose, a.Permission = cmp.Or(a.Thinking, a.Effort, d.Thinking), cmp.Or(a.Verbose, d.Verbose), cmp.Or(a.Permission, d.Permission)
	a.Temperature, a.MaxOutputTokens = cmp.Or(a.Temperature, d.Temperature), cmp.Or(a.MaxOutputTokens, d.MaxOutputTokens)
	a.Workspace = folder(cmp.Or(a.Workspace, filepath.Join(d.Workspace, a.ID)), home)
	if a.FileAccess.Read == nil && a.FileAccess.Write == nil {
		a.FileAccess = d.FileAccess
	}
	a.Sandbox = a.Sandbox.Completed(d.Sandbox)
	completeMemory(&a.Memory, d.Memory, a.ID)
	if a.Tools.Allow == nil {
		a.Tools.Allow = d.Tools.Allow
	}
	if a.Tools.Deny == nil {
		a.Tools.Deny = d.Tools.Deny
	}
}

// completeMemory fills in the settings that a memory section leaves out.
func completeMemory(m *agents.Memory, d agents.Memory, agent string) {
	m.Namespace = cmp.Or(m.Namespace, d.Namespace, agent)
	m.Audience = cmp.Or(m.Audience, d.Audience)
	m.MaxEntries, m.MaxBytes, m.RecallChars = cmp.Or(m.MaxEntries, d.MaxEntries), cmp.Or(m.MaxBytes, d.MaxBytes), cmp.Or(m.RecallChars, d.RecallChars)
}

// folder returns an absolute path; a relative one starts at the working directory.
func folder(path, home string) string {
	if rest, ok := trimHome(path); ok && home != "" {
		return filepath.Join(home, rest)
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// completeLevels gives the page the highest level of the other channels. With a lower level it could not show what a
// shared session learnt there; with a higher one, what is typed there would keep that session from answering on the
// others.
func (c *Config) completeLevels() {
	highest := flow.Public
	for _, p := range c.Channels.Platforms() {
		if len(p.Accounts) > 0 && flow.CanFlow(highest, p.Access.Classification) {
			highest = p.Access.Classification
		}
		for id, g := range p.Access.Groups {
			if !g.Classification.Valid() {
				g.Classification = p.Access.Classification
				p.Access.Groups[id] = g
			}
		}
	}
	if w := &c.Channels.Webchat; !w.Classification.Valid() {
		w.Classification = highest
	}
}

func (c *Config) completeWebhooks() {
	for name, a := range c.Channels.Telegram.Accounts {
		base := trimSlash(c.Gateway.PublicURL)
		if base == "" && a.APIBase != telegramAPI { // a server of one's own may post without https
			base = address.Local(c.Gateway.Listen)
		}
		if a.Mode == "webhook" && a.WebhookURL == "" && base != "" {
			a.WebhookURL = base + "/channels/telegram/" + name
			c.Channels.Telegram.Accounts[name] = a
		}
	}
}

// DefaultAgent returns the agent for messages without a matching binding.
func (c *Config) DefaultAgent() Agent {
	for _, a := range c.Agents.List {
		if a.Default {
			return a
		}
	}
	return c.Agents.List[0]
}
