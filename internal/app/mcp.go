package app

import (
	"cmp"
	"time"

	"sluice/adapters"
	"sluice/internal/config"
	"sluice/internal/httpapi/operator"
	"sluice/internal/mcp"
)

// mcpServers returns the configured MCP servers.
func mcpServers(c *config.Config) []mcp.Server {
	servers := make([]mcp.Server, 0, len(c.MCP.Servers))
	for name, s := range c.MCP.Servers {
		servers = append(servers, mcp.Server{
			Name: name, Command: s.Command, URL: s.URL, Env: s.Env, Headers: s.Headers,
			Classification: s.Classification, Trusted: s.Trusted, Allow: s.Tools.Allow, Deny: s.Tools.Deny,
			Timeout: time.Duration(s.TimeoutSeconds) * time.Second,
		})
	}
	return servers
}

// mcpComponents returns the state of the MCP servers. The gateway is ready without them; only their tools are missing.
func (a *App) mcpComponents() []operator.Health {
	states := a.mcp.States()
	parts := make([]operator.Health, len(states))
	for i, s := range states {
		parts[i] = operator.Health{Kind: "mcp", Level: s.Level, Name: "mcp/" + s.Name, OK: s.Status == adapters.Connected, Optional: true, Detail: cmp.Or(s.Detail, string(s.Status))}
	}
	return parts
}
