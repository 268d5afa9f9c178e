package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
)

func TestAgentsTakeWhatTheyDoNotSayFromTheDefaults(t *testing.T) {
	t.Parallel()
	c := parsed(t, `
state: /var/lib/sluice
agents:
  defaults:
    thinking: low
    permission: ask
    temperature: 0.50
    maxOutputTokens: 100
    sandbox: { mode: optional, sessionToolsVisibility: all }
    tools: { allow: ["*", exec], deny: [message] }
    memory: { maxBytes: 1000000 }
  list:
    - { id: main }
    - { id: work, workspace: ~/work, verbose: on, permission: deny, temperature: 0, maxOutputTokens: 4096, sandbox: { mode: required }, tools: { deny: [] }, memory: { namespace: team, audience: shared, recallChars: 9 } }
`)
	main, work := c.Agents.List[0], c.Agents.List[1]
	require.Equal(t, "/var/lib/sluice/workspaces/main", main.Workspace)
	require.Equal(t, []string{"low", "off", "ask"}, []string{main.Thinking, main.Verbose, main.Permission})
	require.Equal(t, []any{"0.5", 100, "0", 4096}, []any{string(main.Temperature), main.MaxOutputTokens, string(work.Temperature), work.MaxOutputTokens})
	require.Equal(t, config.Sandbox{Mode: "optional", SessionToolsVisibility: "all"}, main.Sandbox)
	require.Equal(t, config.AgentTools{Allow: []string{"*", "exec"}, Deny: []string{"message"}}, main.Tools)
	require.Equal(t, "/home/ann/work", work.Workspace)
	require.Equal(t, []string{"low", "on", "deny"}, []string{work.Thinking, work.Verbose, work.Permission})
	require.Equal(t, config.Sandbox{Mode: "required", SessionToolsVisibility: "all"}, work.Sandbox)
	require.Equal(t, config.AgentTools{Allow: []string{"*", "exec"}, Deny: []string{}}, work.Tools)
	require.Equal(t, config.Memory{Namespace: "main", Audience: "own", MaxEntries: 200_000, MaxBytes: 1_000_000, RecallChars: 4000}, main.Memory)
	require.Equal(t, config.Memory{Namespace: "team", Audience: "shared", MaxEntries: 200_000, MaxBytes: 1_000_000, RecallChars: 9}, work.Memory)

	bare := parsed(t, "agents: { defaults: { workspace: shared } }").DefaultAgent()
	require.Equal(t, "auto", bare.Permission)
	require.Equal(t, config.Sandbox{Mode: "off", SessionToolsVisibility: "spawned"}, bare.Sandbox)
	here, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(here, "shared", "main"), bare.Workspace)
}

func TestFaultsOfAgents(t *testing.T) {
	t.Parallel()
	got := faults(t, `agents:
  defaults:
    systemPrompt: "You are {{.Agent.Nickname}}."
  list:
    - { id: main }
    - id: work
      systemPrompt: "{{if .Now}}no end"
      permission: maybe
      sandbox: { mode: on }
`)
	require.Len(t, got, 4)
	require.Contains(t, got[0], "sluice.yaml:3:19: agents.defaults.systemPrompt: ")
	require.Contains(t, got[0], "Nickname")
	require.Contains(t, got[1], "sluice.yaml:7:21: agents.list[1].systemPrompt: ")
	require.Contains(t, got[2], "agents.list[1].permission: want ask, auto or deny")
	require.Contains(t, got[3], "agents.list[1].sandbox.mode: want off, optional or required")
}
