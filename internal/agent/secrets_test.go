package agent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// knowing is a monitor that knows a CONFIDENTIAL secret for every tool.
func knowing(t *testing.T) *policy.Monitor {
	t.Helper()
	secrets, err := policy.NewSecrets([]policy.Secret{{Name: "crm", Value: "hunter2-hunter2", Level: flow.Confidential, Tools: []string{"*"}}}, nil)
	require.NoError(t, err)
	m, err := policy.NewMonitor(policy.MonitorConfig{
		Secrets: secrets, Escalation: policy.EscalationAuto, SinkLevel: func(sessions.Route) flow.Level { return flow.Restricted }, Now: time.Now,
	})
	require.NoError(t, err)
	return m
}

// withSecrets is a bundle with files whose monitor knows a secret.
func withSecrets(t *testing.T, change func(*roster.Definition)) (b *bundle, folder string) {
	t.Helper()
	b, folder = withFiles(t, everything, change)
	b.configure(func(s *roster.Settings) {
		s.Agents[0].Workspace, s.Monitor = filepath.Dir(filepath.Dir(folder)), knowing(t) // each session has a folder below
		change(&s.Agents[0])
	})
	b.reopen(t)
	return b, folder
}

// A tool that keeps what it is told as its session's own gets no secret, and nothing tells one that is there from one that is not.
func TestSecretsAreForPlacesWithALevel(t *testing.T) {
	t.Parallel()
	b, folder := withSecrets(t, func(d *roster.Definition) { d.Tools.Allow = []string{"*", "exec"} })
	for tool, args := range map[string]string{
		"message":        `{"message":"REF"}`,
		"sessions_send":  `{"sessionKey":"agent:other:main","message":"REF"}`,
		"sessions_spawn": `{"task":"REF"}`,
		"memory_save":    `{"key":"k","content":"REF"}`,
		"todo_add":       `{"items":["REF"]}`,
		"write":          `{"path":"a","content":"REF"}`,
		"edit":           `{"path":"a","oldText":"x","newText":"REF"}`,
		"exec":           `{"command":"echo REF"}`,
		"summarize":      `{"focus":"REF"}`,
	} {
		refused := b.tool(t, tool, strings.ReplaceAll(args, "REF", "{{secret:crm}}"))
		unknown := b.tool(t, tool, strings.ReplaceAll(args, "REF", "{{secret:nil}}"))
		require.True(t, refused.Error, tool)
		require.Equal(t, `refused: there is no secret "crm" for `+tool, refused.Text)
		require.Equal(t, strings.ReplaceAll(unknown.Text, "nil", "crm"), refused.Text)
	}
	require.Empty(t, b.sent)
	require.Empty(t, b.asked)
	require.Empty(t, b.store.todos)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, entries)
	stored, err := json.Marshal(b.session.Messages())
	require.NoError(t, err)
	require.NotContains(t, string(stored), "hunter2")
}

// Files with a level of their own are such a place, unless it is below the secret's.
func TestSecretsInFilesWithALevel(t *testing.T) {
	t.Parallel()
	for _, level := range flow.Levels() {
		b, folder := withSecrets(t, func(d *roster.Definition) { d.FileLevel = level })
		part := b.tool(t, "write", `{"path":"a","content":"{{secret:crm}}"}`)
		if !flow.CanFlow(flow.Confidential, level) {
			require.True(t, part.Error, level)
			require.NoFileExists(t, filepath.Join(folder, "a"))
			continue
		}
		require.False(t, part.Error, part.Text)
		text, err := os.ReadFile(filepath.Join(folder, "a"))
		require.NoError(t, err)
		require.Equal(t, "hunter2-hunter2", string(text))
		require.Equal(t, "[secret:crm]", b.tool(t, "read", `{"path":"a"}`).Text, "no model is shown it")
	}
}
