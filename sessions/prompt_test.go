package sessions_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

func TestPromptOfASession(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(workspace, "AGENTS.md"), []byte("Be brief."), 0o600))
	prompt, err := sessions.ParsePrompt(`You are {{.Agent.Name}} ({{.Agent.ID}}) in {{.Channel}}/{{.ChatType}} "{{.Conversation}}", ` +
		`{{.Now.Format "2006-01-02"}}, {{.Session.Key}}{{with .Instructions}}: {{.}}{{end}}`)
	require.NoError(t, err)
	b := newBundle(t, sessiontest.Says("yes"), sessiontest.Says("again"))
	record := b.Record()
	record.Route = sessions.Route{Channel: "telegram", ChatType: sessions.Group, Title: " The\nteam\x00 \u202e" + strings.Repeat("x", 200)}
	s := sessions.NewSession(b.store, record, func() time.Time { return b.clock })
	s.SetModel(b.model)
	s.SetAgent(sessions.Agent{ID: "main", Name: "Ada", Prompt: prompt, SystemPrompt: "not used", Workspace: workspace})
	s.Append(user("hi"))
	_, err = step(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, `You are Ada (main) in telegram/group "The team `+strings.Repeat("x", 111)+`…", 2027-01-15, agent:main:main: Be brief.`, b.model.Asked()[0].System)

	b.clock = b.clock.AddDate(0, 0, 1)
	require.NoError(t, os.WriteFile(filepath.Join(workspace, "AGENT.md"), []byte("Be very brief."), 0o600))
	_, err = step(t.Context(), s)
	require.NoError(t, err)
	require.Contains(t, b.model.Asked()[1].System, "2027-01-16")
	require.Contains(t, b.model.Asked()[1].System, ": Be very brief.", "AGENT.md comes first")

	spine, err := sessions.ParsePrompt("{{with .Spine}}Remember: {{.}}{{end}}")
	require.NoError(t, err)
	s.SetAgent(sessions.Agent{ID: "main", Prompt: spine, Workspace: workspace})
	system, err := s.SystemPrompt()
	require.NoError(t, err)
	require.Empty(t, system)
	require.NoError(t, os.WriteFile(filepath.Join(workspace, "SPINE.md"), []byte("names"), 0o600))
	system, err = s.SystemPrompt()
	require.NoError(t, err)
	require.Equal(t, "Remember: names", system)
	require.NoError(t, os.Remove(filepath.Join(workspace, "SPINE.md")))
	require.NoError(t, os.Mkdir(filepath.Join(workspace, "SPINE.md"), 0o700))
	_, err = s.SystemPrompt()
	require.ErrorContains(t, err, "SPINE.md: it is a folder")

	s.SetAgent(sessions.Agent{ID: "main", SystemPrompt: "As {{it}} is."})
	system, err = s.SystemPrompt()
	require.NoError(t, err)
	require.Equal(t, "As {{it}} is.", system, "a fixed text is no template")
}

// A prompt that can't be made is the step's error: the model is not asked without it.
func TestPromptThatCantBeMade(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(workspace, "CLAUDE.md"), 0o700))
	prompt, err := sessions.ParsePrompt(`{{.Instructions}}`)
	require.NoError(t, err)
	b := newBundle(t, sessiontest.Says("yes"))
	b.SetAgent(sessions.Agent{ID: "main", Prompt: prompt, Workspace: workspace})
	b.Append(user("hi"))
	_, err = step(t.Context(), b.Session)
	require.ErrorContains(t, err, "CLAUDE.md: it is a folder")
	require.Empty(t, b.model.Asked())
	require.Len(t, b.Messages(), 1)
}
