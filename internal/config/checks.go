package config

import (
	"sluice/internal/config/checks"
	"sluice/internal/expr"
	"sluice/policy/flow"
)

// CompiledChecks compiles the checks. Report gets each fault; it is nil if the configuration was checked.
func (c *Config) CompiledChecks(report checks.Report) []*checks.Compiled {
	server := func(name string) (flow.Level, bool) {
		s, ok := c.MCP.Servers[name]
		return s.Classification, ok
	}
	return checks.Reader{Checks: c.Checks, Server: server, Report: report}.Compile()
}

// expressionFault records a fault of a check.
func (k checker) expressionFault(path, text string, inside *expr.Fault) {
	if !k.faulty[path] {
		k.addAt(k.within(path, inside, k.c.Checks.Expression(path)), path, "%s", text)
	}
}
