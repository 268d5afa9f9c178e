// Package advice looks for settings that are careless or can't work together, although each key is valid.
package advice

import (
	"fmt"
	"slices"
	"strings"

	"sluice/internal/config"
	"sluice/internal/config/agents"
	"sluice/internal/config/hint"
	"sluice/internal/config/scalar"
	"sluice/policy/flow"
)

// Advice is about settings that do not fit together.
type Advice struct {
	Part  string // one word for the part of the configuration
	Text  string // the problem, with the names of the settings
	Fix   string // what to do
	Wrong bool   // a configured feature can't work; otherwise the advice is only worth knowing
}

// adviser checks combinations of settings.
type adviser struct {
	*config.Config
	tools []string // the agents' built-in tools
	found []Advice
}

// On returns the advice on a configuration. tools are the names of the agents' built-in tools.
func On(c *config.Config, tools []string) []Advice {
	a := &adviser{Config: c, tools: tools}
	a.tokens()
	a.models()
	a.outside()
	a.unlistedGroups()
	a.asked()
	a.commands()
	a.rules()
	a.secrets()
	a.limits()
	a.subagents()
	a.bindings()
	return a.found
}

func (a *adviser) wrong(part, mend, format string, args ...any) {
	a.found = append(a.found, Advice{part, fmt.Sprintf(format, args...), mend, true})
}

func (a *adviser) note(part, mend, format string, args ...any) {
	a.found = append(a.found, Advice{part, fmt.Sprintf(format, args...), mend, false})
}

// bindings reports accounts that do not exist: no message comes through them. A channel without accounts may be off for a
// while, so its bindings are not reported.
func (a *adviser) bindings() {
	for i, b := range a.Bindings {
		var known []string
		for _, p := range a.Channels.Platforms() {
			if b.Match.Channel == "" || b.Match.Channel == p.Name {
				known = append(known, p.Accounts...)
			}
		}
		if b.Match.Channel == "webchat" || b.Match.Channel == "" && len(known) > 0 {
			known = append(known, "default") // the page's
		}
		if b.Match.Account != "" && len(known) > 0 && !slices.Contains(known, b.Match.Account) {
			a.wrong("bindings", "name an account under channels, or remove the condition", "bindings[%d].match.account: no account %q: %s", i, b.Match.Account, hint.For(b.Match.Account, known))
		}
	}
}

// subagents names sub-agents that do not exist.
func (a *adviser) subagents() {
	known := []string{"*"}
	for _, agent := range a.Agents.List {
		known = append(known, agent.ID)
	}
	for i, agent := range a.Agents.List {
		for _, id := range agent.Subagents.AllowAgents {
			if !slices.Contains(known, id) {
				a.wrong("agents", hint.For(id, known), "agents.list[%d].subagents.allowAgents: no agent %q in agents.list", i, id)
			}
		}
	}
}

// limits notes limits that people share and that one of them can use up.
func (a *adviser) limits() {
	one := a.Limits.PerPerson
	for _, l := range []struct {
		name   string
		shared scalar.Rate
	}{{"limits.perConversation", a.Limits.PerConversation}, {"limits.perAgent", a.Limits.PerAgent}} {
		if l.shared.Amount > 0 && (one.Amount == 0 || one.In(l.shared.Per) >= l.shared.Amount) {
			a.note("limits", "set limits.perPerson to a fraction of "+l.name, "one person can use up %s (%s): then only owners are answered there", l.name, l.shared)
		}
	}
}

// enabledChannel is an enabled channel with the level of its messages.
type enabledChannel struct {
	name  string
	level flow.Level
}

func (a *adviser) enabledChannels() (on []enabledChannel) {
	if w := a.Channels.Webchat; w.Enabled {
		on = append(on, enabledChannel{"webchat", w.Classification})
	}
	for _, p := range a.Channels.Platforms() {
		if len(p.Accounts) == 0 {
			continue
		}
		level := flow.Public // the highest level of its accounts, each limited by the channel
		for _, account := range p.Accounts {
			own := p.Access.Classification
			if l := p.Levels[account]; l.Valid() {
				own = flow.Min(own, l)
			}
			if above(own, level) {
				level = own
			}
		}
		on = append(on, enabledChannel{p.Name, level})
	}
	return on
}

// above reports whether data of a level may not go to a destination of another level.
func above(level, carries flow.Level) bool { return !flow.CanFlow(level, carries) }

// channelsAbove returns the names of the channels whose level is above another.
func channelsAbove(on []enabledChannel, level flow.Level) (names []string) {
	for _, h := range on {
		if above(h.level, level) {
			names = append(names, h.name+" ("+h.level.String()+")")
		}
	}
	return names
}

// channelsOf returns the channels on which an agent answers.
func (a *adviser) channelsOf(agent config.Agent) []enabledChannel {
	return slices.DeleteFunc(a.enabledChannels(), func(h enabledChannel) bool {
		return !agent.Default && !slices.ContainsFunc(a.Bindings, func(b config.Binding) bool {
			return b.Agent == agent.ID && (b.Match.Channel == "" || b.Match.Channel == h.name)
		})
	})
}

// models compares the levels of agents' models with those of their messages and tool results.
func (a *adviser) models() {
	for _, agent := range a.Agents.List {
		may, who, mend := a.agentMay(&agent)
		if !may.Valid() {
			continue // the offline model may get everything
		}
		if silent := channelsAbove(a.channelsOf(agent), may); len(silent) > 0 {
			a.wrong("levels", mend, "agent %s can't reply on %s: its %s is limited to %s", agent.ID, strings.Join(silent, ", "), who, may)
			continue
		}
		for _, s := range a.sources() {
			if agent.Has(s.tool) && above(s.level, may) {
				a.note("levels", mend, "agent %s can't continue after using %s (%s): its %s is limited to %s", agent.ID, s.setting, s.level, who, may)
			}
		}
		if above(agent.WorkspaceLevel, may) && agent.WorkspaceLevel.Valid() {
			a.wrong("levels", mend, "agent %s can't use its files (%s): its %s is limited to %s", agent.ID, agent.WorkspaceLevel, who, may)
		}
	}
}

// tokens names the tokens that are short enough to guess. If other machines can reach the gateway, the check rejects
// them.
func (a *adviser) tokens() {
	note := func(path string, token config.Secret) {
		if token != "" && config.Guessable(token) {
			a.note("token", "generate one, for example with `openssl rand -base64 32`",
				"%s has fewer than %d characters: other programs on this machine can guess it", path, config.TokenLengthMin)
		}
	}
	note("gateway.token", a.Gateway.Token)
	for i, t := range a.Gateway.Tokens {
		note(fmt.Sprintf("gateway.tokens[%d].token", i), t.Token)
	}
}

// source is an outside source whose tools bring in data.
type source struct {
	setting string
	tool    string // the name of one of its tools, or one like it
	level   flow.Level
}

func (a *adviser) sources() (all []source) {
	for _, name := range sortedKeys(a.MCP.Servers) {
		all = append(all, source{"mcp.servers." + name, mcpPrefix(name), a.MCP.Servers[name].Classification})
	}
	if a.Tools.Web.Enabled {
		all = append(all, source{"tools.web", webTool, a.Tools.Web.Classification})
	}
	return all
}

const webTool = "web_fetch"

func mcpPrefix(server string) string { return "mcp_" + server + "_" }

// agentMay is the highest level that may be sent to who answers for an agent, and what raises it. Invalid: any level.
func (a *adviser) agentMay(agent *config.Agent) (may flow.Level, who, mend string) {
	if agent.Kind != agents.KindLoop {
		may = agent.Program.Classification
		if !may.Valid() {
			may = flow.Public
		}
		return may, "program", fmt.Sprintf("raise the classification of agent %s in agents.list", agent.ID)
	}
	may, name := a.Models.Highest(agent.Model)
	return may, "model " + agent.Model, fmt.Sprintf("raise models.providers.%s.classification, or give agent %s another model", name, agent.ID)
}

// unlistedGroups checks whether unlisted groups can be answered: messages there have the channel's level.
func (a *adviser) unlistedGroups() {
	for _, p := range a.Channels.Platforms() {
		g, ok := p.Access.Groups["*"]
		closed := channelsAbove(slices.DeleteFunc(a.enabledChannels(), func(h enabledChannel) bool { return h.name != p.Name }), g.Classification)
		if ok && p.Access.GroupPolicy != "disabled" && len(closed) > 0 {
			a.wrong("levels", `list those groups by their ids, or raise channels.`+p.Name+`.groups."*".classification`,
				`unlisted groups of %s get no replies: messages from them have the channel's level, and groups."*" is limited to %s`, closed[0], g.Classification)
		}
	}
}

// outside compares the levels of servers and pages with those of the channels whose conversations would use them.
func (a *adviser) outside() {
	on := a.enabledChannels()
	for _, s := range a.sources() {
		closed := channelsAbove(on, s.level)
		switch mend := "raise " + s.setting + ".classification if it may receive that"; {
		case len(closed) > 0 && len(closed) == len(on):
			a.wrong("levels", mend, "no conversation can use %s: it is limited to %s, and these channels are above that: %s", s.setting, s.level, strings.Join(closed, ", "))
		case len(closed) > 0:
			a.note("levels", mend, "conversations on %s can't use %s: it is limited to %s", strings.Join(closed, ", "), s.setting, s.level)
		case !slices.ContainsFunc(on, func(h enabledChannel) bool { return !above(s.level, h.level) }):
			a.note("levels", "raise the classification of a channel that may show it, or lower "+s.setting+".classification",
				"%s returns %s content, and no channel allows that level: replies that use it are always withheld", s.setting, s.level)
		}
	}
}
