package app

import (
	"cmp"
	"strings"
	"time"

	"sluice/adapters/webchat"
	"sluice/internal/agent/roster"
	"sluice/internal/config"
	"sluice/internal/config/scalar"
	"sluice/internal/web"
	"sluice/policy"
	"sluice/router/ledger"
	"sluice/router/nodes"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/sessions"
)

// routerSettings converts the configuration for the router.
func routerSettings(c *config.Config) *place.Settings {
	s := &place.Settings{
		Owners: c.Owners, Channels: channelSettings(c), Keyer: c.Session.Keyer(), Guests: map[string]sessions.FileAccess{},
		Queue: queue.Settings{
			Mode: sessions.QueueMode(c.Session.Queue.Mode), Cap: c.Session.Queue.Cap,
			DropNew: c.Session.Queue.Drop == "new", Debounce: time.Duration(c.Session.Queue.DebounceMs) * time.Millisecond,
		},
		RunTimeout: c.Session.RunTimeout.Std(), DeliveryLife: c.Limits.DeliveryLife.Std(),
		MaxTextBytes: c.Limits.MaxMessageBytes, MaxMediaBytes: c.Limits.MaxMediaBytes, SessionFileBytes: int64(c.Limits.SessionBytes), ProgramFileBytes: int64(c.Limits.WorkspaceBytes), HistoryKeep: c.Limits.HistoryKeep, MaxRunAttempt: c.Limits.RunAttempts,
	}
	s.Clearance = c.Policy.Clearance
	s.Limits = place.Limits{Person: rate(c.Limits.PerPerson), Conversation: rate(c.Limits.PerConversation), Agent: rate(c.Limits.PerAgent)}
	s.Retention = retention(c.Retention)
	s.Retention.Limits = limitAge
	s.Exchanges, s.Reset = exchangeSettings(c), resetSettings(c.Session)
	for _, a := range c.Agents.List {
		if a.Default {
			s.Agent = a.ID
		}
		s.Guests[a.ID], _ = a.FileAccess.Sessions() // it was checked
	}
	for _, b := range c.Bindings {
		s.Bindings = append(s.Bindings, place.Binding{
			Channel: b.Match.Channel, Account: b.Match.Account, Peer: b.Match.Peer, Group: b.Match.Group,
			Space: cmp.Or(b.Match.Guild, b.Match.Team), Agent: b.Agent,
		})
	}
	return s
}

// rate converts a limit.
func rate(r scalar.Rate) ledger.Rate { return ledger.Rate{Max: r.Amount, Per: r.Per} }

// limitAge is how long the windows of limits are kept: longer than the longest period.
const limitAge = 48 * time.Hour

// retention converts the retention settings; the configuration was checked.
func retention(c config.Retention) place.Retention {
	age := func(text string) time.Duration {
		d, _ := config.Age(text)
		return d
	}
	return place.Retention{Events: age(c.Events), Runs: age(c.Runs), Deliveries: age(c.Deliveries), Sessions: age(c.Sessions), Archived: age(c.Archived), Memories: age(c.Memories), Media: age(c.Media), Usage: age(c.Usage)}
}

func channelSettings(c *config.Config) map[string]place.ChannelSettings {
	channels := map[string]place.ChannelSettings{}
	for _, p := range c.Channels.Platforms() {
		if len(p.Accounts) > 0 {
			channels[p.Name] = accessSettings(p.Access)
		}
	}
	// Everyone who speaks on the page, or over the API, has the gateway's token.
	channels[webchat.Channel] = place.ChannelSettings{DMPolicy: place.AccessOpen, GroupPolicy: place.AccessDisabled, OnUnknown: place.UnknownResend}
	// A node has a token that an owner has approved.
	channels[nodes.Channel] = place.ChannelSettings{DMPolicy: place.AccessOpen, GroupPolicy: place.AccessDisabled, OnUnknown: place.UnknownResend}
	return channels
}

func accessSettings(a config.Access) place.ChannelSettings {
	s := place.ChannelSettings{
		DMPolicy: place.AccessPolicy(a.DMPolicy), GroupPolicy: place.AccessPolicy(a.GroupPolicy), AllowFrom: a.AllowFrom,
		OnUnknown: place.UnknownPolicy(a.OnUnknown), AllowBots: place.BotPolicy(a.AllowBots),
		AckReaction: a.AckReaction, AckRemove: a.AckRemove,
		Groups: map[string]place.GroupSettings{}, Spaces: map[string]place.GroupSettings{},
	}
	for id, g := range a.Groups {
		if space, ok := spaceOf(id); ok {
			s.Spaces[space] = groupSettings(g)
		} else {
			s.Groups[id] = groupSettings(g)
		}
	}
	return s
}

// spaceOf returns the guild or workspace if a key of groups stands for a whole one.
func spaceOf(key string) (string, bool) {
	kind, id, ok := strings.Cut(key, ":")
	return id, ok && (kind == "guild" || kind == "team")
}

func groupSettings(g config.Group) place.GroupSettings {
	s := place.GroupSettings{
		RequireMention: g.RequireMention, AllowFrom: g.AllowFrom, AllowRoles: g.AllowRoles, Topics: map[string]place.TopicSettings{},
	}
	for id, t := range g.Topics {
		s.Topics[id] = place.TopicSettings{RequireMention: t.RequireMention}
	}
	return s
}

// exchangeSettings returns the limits for work that agents cause in one another.
func exchangeSettings(c *config.Config) place.ExchangeSettings {
	between, sub := c.Session.AgentToAgent, c.Agents.Defaults.Subagents
	return place.ExchangeSettings{
		MaxTurns: between.MaxPingPongTurns, MaxHops: between.MaxHops, MaxSteps: between.MaxSteps, MaxTokens: between.MaxTokens, MaxAge: between.MaxAge.Std(),
		MaxTasks: sub.MaxConcurrent, MaxChildren: sub.MaxChildren, ArchiveAfter: time.Duration(sub.ArchiveAfterMinutes) * time.Minute,
	}
}

// agentSettings converts the configuration for the agent loop.
func agentSettings(c *config.Config, monitor *policy.Monitor, programs carriers) roster.Settings {
	s := roster.Settings{
		Monitor: monitor,
		Keyer:   c.Session.Keyer(), Owners: c.Owners, Visibility: roster.Visibility(c.Tools.Sessions.Visibility),
		AgentToAgent:  roster.AgentToAgent(c.Tools.AgentToAgent),
		SubagentTools: roster.ToolFilter(c.Tools.Subagents.Tools), RunTimeout: c.Session.RunTimeout.Std(),
		Skills: c.Skills.Settings(func(string, string) {}), SkillChars: c.Skills.PromptChars, // it was checked
		Web: roster.Web{
			Enabled: c.Tools.Web.Enabled, Classification: c.Tools.Web.Classification,
			Rules: web.Rules{Allow: c.Tools.Web.Allow, Deny: c.Tools.Web.Deny, MaxBytes: c.Tools.Web.MaxBytes},
		},
	}
	standard := c.DefaultAgent().ID
	for _, a := range c.Agents.List {
		d := definition(a)
		d.Default = a.ID == standard
		if d.Program = programs.program(a); d.Program != nil {
			d.Model = d.Program.Name()
		}
		s.Agents = append(s.Agents, d)
	}
	return s
}

func definition(a config.Agent) roster.Definition {
	return roster.Definition{
		ID: a.ID, Name: a.Name, SystemPrompt: a.SystemPrompt, Model: a.Model, Summarizer: a.Compaction.Model, AllowAgents: a.Subagents.AllowAgents,
		Workspace: a.Workspace, FileLevel: a.WorkspaceLevel, Thinking: sessions.ThinkingLevel(a.Thinking), Verbose: sessions.VerboseLevel(a.Verbose),
		Temperature: a.Temperature, MaxTokens: a.MaxOutputTokens,
		Permission: sessions.PermissionMode(a.Permission), Sandbox: sessions.SandboxMode(a.Sandbox.Mode),
		SeesAll: a.Sandbox.SessionToolsVisibility == "all", Tools: roster.ToolFilter(a.Tools), A2A: a.Publish.A2A, OpenAI: a.Publish.OpenAI,
		Memory: roster.MemorySettings{
			Namespace: a.Memory.Namespace, Shared: a.Memory.Audience == "shared",
			MaxEntries: a.Memory.MaxEntries, MaxBytes: int64(a.Memory.MaxBytes), Recall: a.Memory.RecallChars,
		},
	}
}

// resetSettings returns the settings of sessions that restart automatically.
func resetSettings(c config.Session) place.ResetSettings {
	s := place.ResetSettings{
		Default: resetPolicy(c.Reset),
		ByType:  map[place.ConversationType]place.ResetPolicy{}, ByChannel: map[string]place.ResetPolicy{},
	}
	for name, r := range c.ResetByType {
		s.ByType[place.ConversationType(name)] = resetPolicy(r)
	}
	for name, r := range c.ResetByChannel {
		s.ByChannel[name] = resetPolicy(r)
	}
	return s
}

func resetPolicy(r config.Reset) place.ResetPolicy {
	return place.ResetPolicy{Mode: place.ResetMode(r.Mode), AtHour: r.AtHour, Idle: time.Duration(r.IdleMinutes) * time.Minute}
}
