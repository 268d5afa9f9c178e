package config

import (
	"fmt"
	"slices"
	"strings"

	"sluice/policy"
	"sluice/policy/flow"
)

// Advice is something in a configuration that is careless, or that can't work, although each of its keys is right.
type Advice struct {
	Part  string // of the configuration, in a word
	Text  string // what is so, naming the settings
	Fix   string // what to do
	Wrong bool   // something that is configured can't work; else it is only worth knowing
}

// adviser looks at what single keys can't show.
type adviser struct {
	*Config
	tools []string // that agents have by themselves
	found []Advice
}

// Advise says which settings do not fit together. tools are the names of the tools that agents have by themselves.
func (c *Config) Advise(tools []string) []Advice {
	a := &adviser{Config: c, tools: tools}
	a.tokens()
	a.models()
	a.outside()
	a.others()
	a.asked()
	a.commands()
	a.rules()
	a.secrets()
	return a.found
}

func (a *adviser) wrong(part, mend, format string, args ...any) {
	a.found = append(a.found, Advice{part, fmt.Sprintf(format, args...), mend, true})
}

func (a *adviser) note(part, mend, format string, args ...any) {
	a.found = append(a.found, Advice{part, fmt.Sprintf(format, args...), mend, false})
}

// heard is a channel that is on, with the level of what is said there.
type heard struct {
	name  string
	level flow.Level
}

func (a *adviser) heard() (on []heard) {
	if w := a.Channels.Webchat; w.Enabled {
		on = append(on, heard{"webchat", w.Classification})
	}
	for _, p := range a.Channels.Platforms() {
		if len(p.Accounts) == 0 {
			continue
		}
		level := flow.Public // the highest of its accounts, each as far as the channel allows
		for _, account := range p.Accounts {
			own := p.Access.Classification
			if l := p.Levels[account]; l.Valid() {
				own = flow.Min(own, l)
			}
			if above(own, level) {
				level = own
			}
		}
		on = append(on, heard{p.Name, level})
	}
	return on
}

// above reports whether what is of a level may not be told to what carries another.
func above(level, carries flow.Level) bool { return !flow.CanFlow(level, carries) }

// channelsAbove names the channels whose level is above another.
func channelsAbove(on []heard, level flow.Level) (names []string) {
	for _, h := range on {
		if above(h.level, level) {
			names = append(names, h.name+" ("+h.level.String()+")")
		}
	}
	return names
}

// hears are the channels that an agent answers on.
func (a *adviser) hears(agent Agent) []heard {
	return slices.DeleteFunc(a.heard(), func(h heard) bool {
		return !agent.Default && !slices.ContainsFunc(a.Bindings, func(b Binding) bool {
			return b.Agent == agent.ID && (b.Match.Channel == "" || b.Match.Channel == h.name)
		})
	})
}

// models compares what agents' models may be told with what is said to the agents, and what their tools bring in.
func (a *adviser) models() {
	for _, agent := range a.Agents.List {
		name, _, _ := strings.Cut(agent.Model, "/")
		provider, ok := a.Models.Providers[name]
		if !ok {
			continue // the offline model is told anything
		}
		may := provider.Classification
		mend := fmt.Sprintf("raise models.providers.%s.classification, or give agent %s another model", name, agent.ID)
		if silent := channelsAbove(a.hears(agent), may); len(silent) > 0 {
			a.wrong("levels", mend, "agent %s can't answer on %s: its model %s is limited to %s", agent.ID, strings.Join(silent, ", "), agent.Model, may)
			continue
		}
		for _, s := range a.sources() {
			if agent.has(s.tool) && above(s.level, may) {
				a.note("levels", mend, "agent %s can't continue after using %s (%s): its model %s is limited to %s", agent.ID, s.setting, s.level, agent.Model, may)
			}
		}
		if above(agent.WorkspaceLevel, may) && agent.WorkspaceLevel.Valid() {
			a.wrong("levels", mend, "agent %s can't use its files (%s): its model %s is limited to %s", agent.ID, agent.WorkspaceLevel, agent.Model, may)
		}
	}
}

// tokens names the tokens that are too short to withstand guessing. The check refuses them where other machines can try.
func (a *adviser) tokens() {
	note := func(path string, token Secret) {
		if token != "" && short(token) {
			a.note("token", "generate one, for example with `openssl rand -base64 32`",
				"%s has fewer than %d characters: other programs on this machine can guess it", path, tokenLengthMin)
		}
	}
	note("gateway.token", a.Gateway.Token)
	for i, t := range a.Gateway.Tokens {
		note(fmt.Sprintf("gateway.tokens[%d].token", i), t.Token)
	}
}

// source is what is outside, and brings something in by tools.
type source struct {
	setting string
	tool    string // the name of one of its tools, or like it
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

// has reports whether an agent has a tool.
func (a *Agent) has(tool string) bool {
	return !policy.NameMatches(a.Tools.Deny, tool) && (len(a.Tools.Allow) == 0 || policy.NameMatches(a.Tools.Allow, tool))
}

// others looks whether groups that are not listed can be answered: what is heard there has the channel's level.
func (a *adviser) others() {
	for _, p := range a.Channels.Platforms() {
		g, ok := p.Access.Groups["*"]
		closed := channelsAbove(slices.DeleteFunc(a.heard(), func(h heard) bool { return h.name != p.Name }), g.Classification)
		if ok && p.Access.GroupPolicy != "disabled" && len(closed) > 0 {
			a.wrong("levels", `list those groups by their ids, or raise channels.`+p.Name+`.groups."*".classification`,
				`unlisted groups of %s get no answers: messages from them have the channel's level, and groups."*" is limited to %s`, closed[0], g.Classification)
		}
	}
}

// outside compares the levels of servers and pages with those of the channels whose conversations would use them.
func (a *adviser) outside() {
	on := a.heard()
	for _, s := range a.sources() {
		closed := channelsAbove(on, s.level)
		switch mend := "raise " + s.setting + ".classification if it may receive that"; {
		case len(closed) > 0 && len(closed) == len(on):
			a.wrong("levels", mend, "no conversation can use %s: it is limited to %s, and these channels are above that: %s", s.setting, s.level, strings.Join(closed, ", "))
		case len(closed) > 0:
			a.note("levels", mend, "conversations on %s can't use %s: it is limited to %s", strings.Join(closed, ", "), s.setting, s.level)
		case !slices.ContainsFunc(on, func(h heard) bool { return !above(s.level, h.level) }):
			a.note("levels", "raise the classification of a channel that may show it, or lower "+s.setting+".classification",
				"%s returns %s content, and no channel allows that level: answers that use it are always withheld", s.setting, s.level)
		}
	}
}
