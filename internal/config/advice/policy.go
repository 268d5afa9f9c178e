package advice

import (
	"maps"
	"slices"
	"strings"

	"sluice/policy"
	"sluice/sessions"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// asked checks whether someone can decide about questions, and whether strangers can raise a conversation's level
// without a question.
func (a *adviser) asked() {
	for _, p := range a.Channels.Platforms() {
		if len(p.Accounts) == 0 {
			continue
		}
		if !slices.ContainsFunc(a.Owners, func(who string) bool { return strings.HasPrefix(who, p.Name+":") }) {
			a.note("owners", "add "+p.Name+":<user id> to owners (/whoami shows the ID)",
				"no owner is on %s: the gateway can't ask anyone there for approval; only `sluice approvals list` shows such requests", p.Name)
		}
		groups := p.Access.GroupPolicy == "open" || p.Access.GroupPolicy == "allowlist" && len(p.Access.Groups) > 0
		if groups && policy.Escalation(a.Policy.Escalation) == policy.EscalationAuto {
			a.note("escalation", "set policy.escalation to ask or deny",
				"policy.escalation is auto, and the agents listen to groups of %s: people there can make a session rise above the level of their group without an owner's consent", p.Name)
		}
	}
}

// commands names the agents whose commands run without a sandbox.
func (a *adviser) commands() {
	var free []string
	for _, agent := range a.Agents.List {
		if sessions.SandboxMode(agent.Sandbox.Mode) == sessions.SandboxOff && slices.Contains(agent.Tools.Allow, "exec") && !slices.Contains(agent.Tools.Deny, "exec") {
			free = append(free, agent.ID)
		}
	}
	if len(free) > 0 {
		a.note("exec", "set sandbox.mode: required for them (docs/workspace.md)",
			"commands of %s run outside a sandbox: they can read and send everything that the gateway can, whatever its level", strings.Join(free, ", "))
	}
}

// rules finds rules that never apply, and decisions that nobody can make.
func (a *adviser) rules() {
	for _, r := range a.Policy.Rules {
		mend := "edit policy.rules." + r.Name
		if r.Point() == policy.MCPToolCall && len(a.MCP.Servers) == 0 {
			a.wrong("rules", mend, "policy.rules.%s never applies: no MCP server is configured", r.Name)
			continue
		}
		for _, pattern := range r.Tools {
			if len(a.named(pattern, r.Point() == policy.MCPToolCall)) == 0 {
				a.wrong("rules", mend+", or configure the server that has the tool", "policy.rules.%s: no tool is named %q", r.Name, pattern)
			}
		}
		if len(r.Approvers) > 0 && !slices.ContainsFunc(r.Approvers, a.canAnswer) {
			a.wrong("rules", mend+".approvers", "policy.rules.%s: no approver can decide: their channels are off: %s", r.Name, strings.Join(r.Approvers, ", "))
		}
	}
}

// canAnswer reports whether a person is on an enabled channel.
func (a *adviser) canAnswer(who string) bool {
	channel, _, _ := sessions.ParsePrincipal(who)
	return slices.ContainsFunc(a.enabledChannels(), func(h enabledChannel) bool { return h.name == channel })
}

// named returns the tools that a name or pattern can match: the built-in ones, unless only servers' tools count, and
// for each server that may have a match the prefix of its tools' names.
func (a *adviser) named(pattern string, servers bool) (tools []string) {
	for _, tool := range a.tools {
		if !servers && policy.NameMatches([]string{pattern}, tool) {
			tools = append(tools, tool)
		}
	}
	for _, server := range sortedKeys(a.MCP.Servers) {
		if canMatch(pattern, mcpPrefix(server)) {
			tools = append(tools, mcpPrefix(server))
		}
	}
	return tools
}

// canMatch reports whether a pattern can match a name with a prefix.
func canMatch(pattern, prefix string) bool {
	literal := pattern
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		literal = pattern[:i]
		if strings.HasPrefix(prefix, literal) {
			return true
		}
	}
	return strings.HasPrefix(literal, prefix)
}

// secrets finds secrets that no tool ever gets.
func (a *adviser) secrets() {
	levels := map[string]source{}
	for _, s := range a.sources() {
		levels[s.tool] = s
	}
	for _, name := range sortedKeys(a.Vault) {
		s := a.Vault[name]
		var tools, low []string
		for _, pattern := range s.Tools {
			for _, tool := range a.named(pattern, false) {
				tools = append(tools, tool)
				if to, outside := levels[tool]; outside && above(s.Classification, to.level) {
					low = append(low, to.setting+" ("+to.level.String()+")")
				}
			}
		}
		switch {
		case len(tools) == 0:
			a.wrong("secrets", "edit secrets."+name+".tools, or configure the server that has such a tool", "no tool gets secrets.%s: no tool matches %s", name, strings.Join(s.Tools, ", "))
		case len(low) == len(tools):
			a.wrong("secrets", "raise the classification of the tool's server, or lower secrets."+name+".classification",
				"no tool gets secrets.%s: its level %s is above %s", name, s.Classification, strings.Join(low, ", "))
		case above(s.Classification, a.Policy.Clearance):
			a.wrong("secrets", "raise policy.clearance, or lower secrets."+name+".classification", "no session gets secrets.%s: its level is %s, and policy.clearance is %s", name, s.Classification, a.Policy.Clearance)
		}
	}
}
