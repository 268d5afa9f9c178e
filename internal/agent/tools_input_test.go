package agent_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/policy/flow"
	"sluice/sessions"
)

// schema is what a tool tells models of its parameters.
type schema struct {
	Required             []string
	AdditionalProperties *bool
	Properties           map[string]struct{ Type string }
}

// specs are the tools that a model is offered, by name.
func (b *bundle) specs(t *testing.T) map[string]sessions.ToolSpec {
	t.Helper()
	b.tool(t, "todo_list", `{}`)
	specs := map[string]sessions.ToolSpec{}
	for _, spec := range b.model.Asked()[0].Tools {
		specs[spec.Name] = spec
	}
	return specs
}

// Whatever the tool: what it does not know, lacks, or can't read as it should is an error that names the parameter.
func TestEveryToolNamesTheBadParameter(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.Web = roster.Web{Enabled: true, Classification: flow.Public} })
	b.reopen(t)
	for name, spec := range b.specs(t) {
		var s schema
		require.NoError(t, json.Unmarshal(spec.Parameters, &s), name)
		require.NotNil(t, s.AdditionalProperties, name)
		require.False(t, *s.AdditionalProperties, name)
		refused := func(parameter, args string) {
			t.Helper()
			result := b.tool(t, name, args)
			require.True(t, result.Error, "%s %s: %s", name, args, result.Text)
			require.True(t, strings.HasPrefix(result.Text, parameter), "%s %s: %s", name, args, result.Text)
		}
		refused("nonsense: unknown parameter", `{"nonsense":1}`)
		for _, parameter := range s.Required {
			require.Contains(t, slices.Collect(maps.Keys(s.Properties)), parameter, name)
		}
		if len(s.Required) > 0 {
			refused(s.Required[0], `{}`)
		}
		for parameter, p := range s.Properties {
			wrong := `{"x":1}`
			if p.Type == "object" {
				wrong = `"x"`
			}
			refused(parameter+": want ", `{"`+parameter+`":`+wrong+`}`)
		}
	}
}
