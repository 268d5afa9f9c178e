package agent_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/policy/flow"
)

// offered is a tool as models are told of it.
type offered struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Models, prompts and people's instructions rely on the names, the descriptions and the parameters of the built-in tools:
// a change of one shows here. To accept it, write what the test prints into testdata/tools.json.
func TestTheToolsThatModelsAreOffered(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) {
		s.Web = roster.Web{Enabled: true, Classification: flow.Public}
		s.Agents[0].Workspace, s.Agents[0].Tools.Allow = t.TempDir(), []string{"*", roster.ExecName}
	})
	b.reopen(t)
	specs := b.specs(t)
	var list []offered
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		list = append(list, offered{name, specs[name].Description, specs[name].Parameters})
	}
	now, err := json.Marshal(list)
	require.NoError(t, err)
	want, err := os.ReadFile(filepath.Join("testdata", "tools.json"))
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(now), "%s", now)
}
