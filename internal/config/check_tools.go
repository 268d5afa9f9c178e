package config

import (
	"fmt"
	"maps"
	"slices"

	"golang.org/x/net/http/httpguts"

	"sluice/internal/pattern"
	"sluice/policy"
)

var (
	mcpShape  = pattern.New(`^[a-z0-9][a-z0-9-]{0,30}$`) // without _, which separates it from the tool's name
	hostMatch = pattern.New(`^[a-z0-9.*?:-]+$`)
	envShape  = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// tools checks what agents' tools may do.
func (k checker) tools() {
	k.patterns("tools.subagents.tools.allow", k.c.Tools.Subagents.Tools.Allow)
	k.patterns("tools.subagents.tools.deny", k.c.Tools.Subagents.Tools.Deny)
	k.patterns("tools.agentToAgent.allow", k.c.Tools.AgentToAgent.Allow)
	d := k.c.Agents.Defaults.Tools
	k.patterns("agents.defaults.tools.allow", d.Allow)
	k.patterns("agents.defaults.tools.deny", d.Deny)
	for i, a := range k.c.Agents.List {
		at := fmt.Sprintf("agents.list[%d].tools", i)
		if !slices.Equal(a.Tools.Allow, d.Allow) {
			k.patterns(at+".allow", a.Tools.Allow)
		}
		if !slices.Equal(a.Tools.Deny, d.Deny) {
			k.patterns(at+".deny", a.Tools.Deny)
		}
	}
	k.hosts("tools.web.allow", k.c.Tools.Web.Allow)
	k.hosts("tools.web.deny", k.c.Tools.Web.Deny)
}

// patterns checks names that may contain a *.
func (k checker) patterns(at string, patterns []string) {
	for i, pattern := range patterns {
		err := policy.CheckNamePattern(pattern)
		k.must(err == nil, fmt.Sprintf("%s[%d]", at, i), "%q: %v", pattern, err)
	}
}

func (k checker) hosts(at string, patterns []string) {
	for i, pattern := range patterns {
		k.must(hostMatch.MatchString(pattern), fmt.Sprintf("%s[%d]", at, i), "%q: want a host in small letters, or a pattern such as *.example.org, without scheme, path or port", pattern)
	}
}

func (k checker) mcp() {
	for _, name := range slices.Sorted(maps.Keys(k.c.MCP.Servers)) {
		at, s := join("mcp.servers", name), k.c.MCP.Servers[name]
		k.must(mcpShape.MatchString(name), at, "want a name of at most 31 of a-z 0-9 -")
		k.must(len(s.Command) > 0 || s.URL != "", at, "has neither command nor url: set one of them")
		k.must(len(s.Command) == 0 || s.URL == "", at, "has a command and a url: keep one")
		k.must(len(s.Command) == 0 || s.Command[0] != "", at+".command", "starts with an empty text: want the program first")
		k.must(s.URL == "" || isURL(s.URL.Reveal(), "http", "https"), at+".url", "want an http or https address")
		k.must(s.URL == "" || len(s.Env) == 0, at+".env", "is only for a command: remove it")
		k.must(s.URL != "" || len(s.Headers) == 0, at+".headers", "are only for a url: remove them")
		k.patterns(at+".tools.allow", s.Tools.Allow)
		k.patterns(at+".tools.deny", s.Tools.Deny)
		for key, value := range s.Env {
			k.must(envShape.MatchString(key), join(at+".env", key), "want a name of A-Z a-z 0-9 _")
			k.must(!hasZero(value.Reveal()), join(at+".env", key), "has a zero byte, which an environment variable can't contain")
		}
		for key, value := range s.Headers {
			k.must(httpguts.ValidHeaderFieldName(key), join(at+".headers", key), "want the name of a header")
			k.must(httpguts.ValidHeaderFieldValue(value.Reveal()), join(at+".headers", key), "has a character that a header can't contain")
		}
	}
}

func hasZero(s string) bool { return slices.Contains([]byte(s), 0) }
