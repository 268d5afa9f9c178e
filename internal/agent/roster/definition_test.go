package roster_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/sessions"
)

func TestToolFilter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		filter roster.ToolFilter
		mode   sessions.SandboxMode
		has    []string
		lacks  []string
	}{
		"without a filter, all but commands": {mode: sessions.SandboxOff, has: []string{"read", "message"}, lacks: []string{"exec"}},
		"commands in a sandbox":              {mode: sessions.SandboxRequired, has: []string{"read", "exec"}},
		"commands that are named":            {filter: roster.ToolFilter{Allow: []string{"exec"}}, mode: sessions.SandboxOff, has: []string{"exec"}, lacks: []string{"read"}},
		"commands by a pattern":              {filter: roster.ToolFilter{Allow: []string{"*"}}, mode: sessions.SandboxOff, has: []string{"read"}, lacks: []string{"exec"}},
		"a denial counts more":               {filter: roster.ToolFilter{Allow: []string{"memory_*", "exec"}, Deny: []string{"*_delete", "exec"}}, has: []string{"memory_get"}, lacks: []string{"memory_delete", "exec", "read"}},
	} {
		for _, tool := range c.has {
			require.True(t, c.filter.Has(tool, c.mode), "%s: %s", name, tool)
		}
		for _, tool := range c.lacks {
			require.False(t, c.filter.Has(tool, c.mode), "%s: %s", name, tool)
		}
	}
}

func TestMayStart(t *testing.T) {
	t.Parallel()
	r := roster.New(roster.Settings{Agents: []roster.Definition{
		{ID: "some", AllowAgents: []string{"other"}}, {ID: "any", AllowAgents: []string{"*"}}, {ID: "other"},
	}})
	require.True(t, r.MayStart("other", "other"), "itself")
	require.True(t, r.MayStart("some", "other"))
	require.False(t, r.MayStart("some", "any"))
	require.True(t, r.MayStart("any", "some"))
	require.False(t, r.MayStart("nobody", "some"))
}
