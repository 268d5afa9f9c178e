package hooks_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/config/automation"
	"sluice/internal/config/hooks"
	"sluice/internal/config/scalar"
	"sluice/internal/hook/signature"
	"sluice/policy/flow"
	"sluice/router/hook"
	"sluice/router/ledger"
)

const secret = adapters.Secret("a secret of 24 characters")

func read(all hooks.Hooks) (list []hook.Hook, faults map[string]string) {
	faults = map[string]string{}
	report := func(path, text string) { faults[path] = text }
	list = hooks.Reader{Hooks: all, Default: "main", Report: report, Places: automation.Reader{
		Report: report, Channel: func(string) error { return nil },
		Agent: func(id string) error {
			if id != "ops" {
				return errors.New("no agent " + id)
			}
			return nil
		},
	}}.Read()
	return list, faults
}

func TestHooks(t *testing.T) {
	t.Parallel()
	list, faults := read(hooks.Hooks{
		"plain": {Secrets: []adapters.Secret{secret}},
		"ci": {
			Preset: "github", Secrets: []adapters.Secret{secret, secret}, Classification: flow.Public, Filter: "payload.a == 1", Session: "hook:ci", Agent: "ops", Prompt: "x",
			Deliver: automation.Deliver{To: []string{"test:1"}}, Timeout: scalar.Duration(time.Minute), Signature: "bearer",
		},
	})
	require.Empty(t, faults)
	require.Len(t, list, 2)
	ci, plain := list[0], list[1]
	require.Equal(t, []any{"ci", "github", signature.Bearer, flow.Public, "ops", time.Minute}, []any{ci.Name, ci.Preset, ci.Scheme(), ci.Level, ci.Agent, ci.Timeout})
	require.Equal(t, []ledger.TriggerTarget{{Name: "test:1", Channel: "test", To: "1"}}, ci.Deliver.To)
	require.Equal(t, []any{"plain", "generic", signature.Bearer, flow.Internal, "main", time.Duration(0)}, []any{plain.Name, plain.Preset, plain.Scheme(), plain.Level, plain.Agent, plain.Timeout})
	require.Equal(t, []ledger.TriggerTarget{{Name: "owner", To: "owner"}}, plain.Deliver.To)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for path, c := range map[string]struct {
		name string
		hook hooks.Hook
		want string
	}{
		"hooks.A b":              {"A b", hooks.Hook{}, "want a name"},
		"hooks.ci.secrets":       {"ci", hooks.Hook{Secrets: []adapters.Secret{}}, "is missing"},
		"hooks.ci.secrets[0]":    {"ci", hooks.Hook{Secrets: []adapters.Secret{"short"}}, "is too short"},
		"hooks.ci.filter":        {"ci", hooks.Hook{Filter: "payload.("}, "line 1, column"},
		"hooks.ci.session":       {"ci", hooks.Hook{Session: "main"}, "begins with hook:"},
		"hooks.ci.prompt":        {"ci", hooks.Hook{Prompt: "{{"}, "unclosed action"},
		"hooks.ci.agent":         {"ci", hooks.Hook{Agent: "none"}, "no agent none"},
		"hooks.ci.deliver.to[0]": {"ci", hooks.Hook{Deliver: automation.Deliver{To: []string{"nowhere"}}}, "want owner"},
	} {
		if c.hook.Secrets == nil {
			c.hook.Secrets = []adapters.Secret{secret}
		}
		_, faults := read(hooks.Hooks{c.name: c.hook})
		require.Len(t, faults, 1, path)
		require.Contains(t, faults[path], c.want)
	}
}

// A hook's alert needs alerts, and takes the place of what an agent needs.
func TestAlertsOfHooks(t *testing.T) {
	t.Parallel()
	given := func(h hooks.Hook) hooks.Hook {
		h.Alert.Given()
		h.Secrets, h.Preset = []adapters.Secret{secret}, "grafana"
		return h
	}
	list, faults := read(hooks.Hooks{"plain": given(hooks.Hook{})})
	require.Contains(t, faults["hooks.plain.alert"], "alerts are not configured: add alerts.route.receiver and alerts.receivers")
	require.Len(t, faults, 1)
	require.True(t, list[0].Reports())
	require.Equal(t, []any{"", 0}, []any{list[0].Agent, len(list[0].Deliver.To)})
	_, faults = read(hooks.Hooks{"plain": given(hooks.Hook{
		Agent: "ops", Prompt: "x", Session: "hook:x", Timeout: 1, Deliver: automation.Deliver{To: []string{"owner"}}, Alert: hooks.Alert{Severity: "odd"},
	})})
	for _, key := range []string{"agent", "prompt", "session", "timeout", "deliver"} {
		require.Contains(t, faults["hooks.plain."+key], "does not go with alert", "%v", maps.Keys(faults))
	}
	require.Contains(t, faults["hooks.plain.alert.severity"], "want critical")
}
