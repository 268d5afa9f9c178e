package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/config/agents"
)

// Effort is another name of thinking, for an agent and for all of them.
func TestEffortIsThinking(t *testing.T) {
	t.Parallel()
	c := parsed(t, "agents: { defaults: { effort: low }, list: [{ id: main }, { id: deep, effort: high }, { id: plain, thinking: off }, { id: same, thinking: medium, effort: medium }] }")
	var got []string
	for _, a := range c.Agents.List {
		got = append(got, a.Thinking)
	}
	require.Equal(t, []string{"low", "high", "off", "medium"}, got)
	for text, says := range map[string]string{
		"{ list: [{ id: main, thinking: low, effort: high }] }": "agents.list[0].effort: is high, and thinking is low: they are the same setting; remove one",
		"{ defaults: { thinking: low, effort: high } }":         "agents.defaults.effort: is high, and thinking is low",
		"{ list: [{ id: main, effort: max }] }":                 "agents.list[0].effort: want off, low, medium or high",
	} {
		_, err := loader(t).Parse("sluice.yaml", []byte("agents: "+text))
		require.ErrorContains(t, err, says)
	}
}

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
	require.Equal(t, agents.Sandbox{Mode: "optional", SessionToolsVisibility: "all"}, main.Sandbox)
	require.Equal(t, agents.Tools{Allow: []string{"*", "exec"}, Deny: []string{"message"}}, main.Tools)
	require.Equal(t, "/home/ann/work", work.Workspace)
	require.Equal(t, []string{"low", "on", "deny"}, []string{work.Thinking, work.Verbose, work.Permission})
	require.Equal(t, agents.Sandbox{Mode: "required", SessionToolsVisibility: "all"}, work.Sandbox)
	require.Equal(t, agents.Tools{Allow: []string{"*", "exec"}, Deny: []string{}}, work.Tools)
	require.Equal(t, agents.Memory{Namespace: "main", Audience: "own", MaxEntries: 200_000, MaxBytes: 1_000_000, RecallChars: 4000}, main.Memory)
	require.Equal(t, agents.Memory{Namespace: "team", Audience: "shared", MaxEntries: 200_000, MaxBytes: 1_000_000, RecallChars: 9}, work.Memory)

	bare := parsed(t, "agents: { defaults: { workspace: shared } }").DefaultAgent()
	require.Equal(t, "auto", bare.Permission)
	require.Equal(t, agents.Sandbox{Mode: "optional", SessionToolsVisibility: "all"}, bare.Sandbox, "a sandbox that nobody asked for limits commands alone")
	for text, want := range map[string]agents.Sandbox{
		"agents: { defaults: { sandbox: { mode: optional } } }":                              {Mode: "optional", SessionToolsVisibility: "spawned"},
		"agents: { list: [{ id: a, sandbox: { mode: required } }] }":                         {Mode: "required", SessionToolsVisibility: "spawned"},
		"agents: { list: [{ id: a, sandbox: { mode: 'off' } }] }":                            {Mode: "off", SessionToolsVisibility: "spawned"},
		"agents: { defaults: { sandbox: { sessionToolsVisibility: spawned } } }":             {Mode: "optional", SessionToolsVisibility: "spawned"},
		"agents: { list: [{ id: a, kind: command, classification: PUBLIC, command: [x] }] }": {Mode: "required", SessionToolsVisibility: "spawned"},
	} {
		require.Equal(t, want, parsed(t, text).DefaultAgent().Sandbox, text)
	}
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

func TestFaultsOfPrograms(t *testing.T) {
	t.Parallel()
	const key = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
	got := faults(t, `agents:
  list:
    - { id: a, nkey: `+key+` }
    - { id: b, kind: nats, model: offline/echo, nkey: wrong }
    - { id: c, kind: command, nkey: `+key+` }
    - { id: d, kind: nats, command: [x], nkey: `+key+` }
    - { id: e, kind: nats, nkey: `+key+` }
    - { id: f, kind: other }
    - { id: g, kind: a2a, auth: Bearer x }
    - { id: h, kind: a2a, url: "http://user@host/", nkey: x }
    - { id: i, kind: command, command: [x], url: "http://a", auth: x }
`)
	text := strings.Join(got, "\n")
	for _, want := range []string{
		"agents.list[0].kind: is loop, but classification, trust, timeout, nkey, command, url or auth is set",
		"agents.list[1].model: is set, but it is only for kind loop: remove it",
		`agents.list[1].nkey: "wrong": want the public nkey of the program, U…; make one with sluice agents key`,
		"agents.list[1].kind: is nats, but no program can connect to the bus: set bus.listen, for example 127.0.0.1:4222",
		"agents.list[2].command: want a program and its arguments for kind command",
		"agents.list[2].nkey: is only for kind nats",
		"agents.list[3].command: want a program and its arguments for kind command, and nothing for other kinds",
		"agents.list[4].nkey: is also that of agent d: give each agent its own",
		"agents.list[6].url: want the address of the remote agent for kind a2a",
		`agents.list[7].url: "http://user@host/": want http://… or https://… with a host`,
		"agents.list[7].nkey: is only for kind nats",
		"agents.list[8].url: want the address of the remote agent for kind a2a, and nothing for other kinds",
		"agents.list[8].auth: is only for kind a2a",
		"agents.list[5].kind: want loop, nats, command or a2a",
	} {
		require.Contains(t, text, want)
	}
	text = strings.Join(faults(t, "bus: { url: nats://a }\nstore: { url: postgres://a/b }\ngateway: { token: 0123456789abcdef }\nagents: { list: [{ id: a, kind: nats, nkey: "+key+" }] }\n"), "\n")
	require.Contains(t, text, "agents.list[0].nkey: is only for the embedded bus: with bus.url, the NATS cluster decides who may connect")

	c := parsed(t, "bus: { listen: 127.0.0.1:4222 }\nagents: { list: [{ id: a, kind: nats, nkey: "+key+" }, { id: b, kind: command, command: [x] }, { id: c, kind: command, command: [x], sandbox: { mode: off } }] }\n")
	require.Equal(t, "optional", c.Agents.List[0].Sandbox.Mode)
	require.Equal(t, "required", c.Agents.List[1].Sandbox.Mode, "a command runs in the sandbox unless its owner says otherwise")
	require.Equal(t, "off", c.Agents.List[2].Sandbox.Mode)
}
