package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// equipped is a bundle whose agent main has a workspace, and what else it is given.
func equipped(t *testing.T, change func(*roster.Definition)) (b *bundle, workspace string) {
	t.Helper()
	b, workspace = newBundle(t), filepath.Join(t.TempDir(), "main")
	b.configure(func(s *roster.Settings) {
		s.Agents[0].Workspace = workspace
		if change != nil {
			change(&s.Agents[0])
		}
	})
	b.reopen(t)
	return b, workspace
}

func TestInstructionsOfTheWorkspaceReachThePrompt(t *testing.T) {
	t.Parallel()
	b, workspace := equipped(t, nil)
	require.NoError(t, os.WriteFile(filepath.Join(workspace, "AGENTS.md"), []byte("Speak Latin."), 0o600))
	b.model.Answers = []sessiontest.Answer{sessiontest.Says("salve")}
	_, err := b.ask(t.Context(), "hi")
	require.NoError(t, err)
	require.Contains(t, b.model.Asked()[0].System, "Your owner wants you to work like this:\n\nSpeak Latin.")
	require.NoError(t, os.Remove(filepath.Join(workspace, "AGENTS.md")))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(workspace, "AGENTS.md")))
	record, err := b.store.Session(t.Context(), b.run.Session)
	require.NoError(t, err)
	_, err = b.Open(t.Context(), record)
	public := (*sessions.WorkError)(nil)
	require.ErrorAs(t, err, &public)
	require.Contains(t, public.Public, "AGENTS.md")
}

func TestTemplateOfAnAgent(t *testing.T) {
	t.Parallel()
	b, _ := equipped(t, func(d *roster.Definition) {
		d.SystemPrompt = "{{.Agent.Name}} in {{.Session.Key}}"
		d.Thinking = sessions.ThinkingHigh
	})
	prompt, err := b.session.SystemPrompt()
	require.NoError(t, err)
	require.Equal(t, "Main in agent:main:main", prompt)
	require.Equal(t, sessions.ThinkingHigh, b.session.Thinking())
}

func TestASubAgentIsAllowedNoMoreThanWhoStartedIt(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.Agents[0].Permission = sessions.PermissionDeny })
	parent := b.session.Record().ID
	child := b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:other:subagent:1", Agent: "other", SpawnedBy: parent, Taint: flow.Bottom()})
	opened, err := b.Open(t.Context(), child)
	require.NoError(t, err)
	require.Equal(t, sessions.PermissionDeny, opened.Permission())
	orphan := b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:other:subagent:2", Agent: "other", SpawnedBy: sessions.NewID(), Taint: flow.Bottom()})
	opened, err = b.Open(t.Context(), orphan)
	require.NoError(t, err)
	require.Equal(t, sessions.PermissionDeny, opened.Permission())
}

// A session with a sandbox sees what it has started, whatever the visibility is.
func TestASandboxNarrowsWhatIsSeen(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{false, true} {
		b := newBundle(t)
		b.configure(func(s *roster.Settings) {
			s.Visibility = roster.VisibleAll
			s.Agents[0].Workspace, s.Agents[0].Sandbox, s.Agents[0].SeesAll = t.TempDir(), sessions.SandboxOptional, all
		})
		b.reopen(t)
		other := b.record("agent:main:telegram:group:1", flow.Bottom())
		started := b.stored(sessions.Record{ID: sessions.NewID(), Key: "agent:main:subagent:1", Agent: "main", SpawnedBy: b.session.Record().ID, Taint: flow.Bottom()})
		var seen []sessions.ID
		for _, r := range []sessions.Record{other, started} {
			if part := b.tool(t, "sessions_history", `{"sessionKey":"`+string(r.ID)+`"}`); !part.Error {
				seen = append(seen, r.ID)
			}
		}
		require.True(t, slices.Contains(seen, started.ID))
		require.Equal(t, all, slices.Contains(seen, other.ID))
	}
}

func TestWhichToolsAnAgentHas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*roster.Definition)
		has    []string
		lacks  []string
	}{
		"nothing said":           {func(*roster.Definition) {}, []string{"read", "message"}, []string{"exec"}},
		"a sandbox":              {func(d *roster.Definition) { d.Sandbox = sessions.SandboxRequired }, []string{"exec"}, nil},
		"a sandbox and no exec":  {func(d *roster.Definition) { d.Sandbox = sessions.SandboxRequired; d.Tools.Deny = []string{"exec"} }, []string{"read"}, []string{"exec"}},
		"everything but exec":    {func(d *roster.Definition) { d.Tools.Allow = []string{"*"} }, []string{"read", "message"}, []string{"exec"}},
		"exec outside a sandbox": {func(d *roster.Definition) { d.Tools.Allow = []string{"*", "exec"} }, []string{"exec", "message"}, nil},
		"two":                    {func(d *roster.Definition) { d.Tools.Allow = []string{"read", "list"} }, []string{"read", "list"}, []string{"write", "message", "exec"}},
		"without a workspace":    {func(d *roster.Definition) { d.Workspace = ""; d.Tools.Allow = []string{"*", "exec"} }, []string{"message"}, []string{"read", "exec"}},
		"denied although allowed": {func(d *roster.Definition) {
			d.Tools = roster.ToolFilter{Allow: []string{"read"}, Deny: []string{"read"}}
		}, nil, []string{"read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := equipped(t, c.change)
			for _, tool := range c.has {
				_, ok := b.session.Tool(tool)
				require.True(t, ok, tool)
			}
			for _, tool := range c.lacks {
				_, ok := b.session.Tool(tool)
				require.False(t, ok, tool)
			}
		})
	}
}
