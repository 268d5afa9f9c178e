package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// sandboxed is a sandbox that is available or says why not.
type sandboxed struct{ missing error }

func (s sandboxed) Available(context.Context) error { return s.missing }

func TestSetupSandbox(t *testing.T) {
	t.Parallel()
	missing := errors.New("no bubblewrap here")
	for name, c := range map[string]struct {
		settings sessions.SandboxSettings
		want     sessions.SandboxConfig // without its workspace
		fails    string
	}{
		"nothing said":         {want: sessions.SandboxConfig{Mode: sessions.SandboxOff}},
		"off":                  {settings: sessions.SandboxSettings{Mode: sessions.SandboxOff, Sandbox: sandboxed{}}, want: sessions.SandboxConfig{Mode: sessions.SandboxOff}},
		"optional and there":   {settings: sessions.SandboxSettings{Mode: sessions.SandboxOptional, Network: true, Sandbox: sandboxed{}}, want: sessions.SandboxConfig{Mode: sessions.SandboxOptional, Sandboxed: true, Network: true}},
		"optional and missing": {settings: sessions.SandboxSettings{Mode: sessions.SandboxOptional, Sandbox: sandboxed{missing}}, want: sessions.SandboxConfig{Mode: sessions.SandboxOptional, Fallback: "no bubblewrap here"}},
		"required and there":   {settings: sessions.SandboxSettings{Mode: sessions.SandboxRequired, Sandbox: sandboxed{}}, want: sessions.SandboxConfig{Mode: sessions.SandboxRequired, Sandboxed: true}},
		"required and missing": {settings: sessions.SandboxSettings{Mode: sessions.SandboxRequired, Sandbox: sandboxed{missing}}, fails: "required and not available: no bubblewrap here"},
		"required and none":    {settings: sessions.SandboxSettings{Mode: sessions.SandboxRequired}, fails: "this gateway has none"},
		"unknown":              {settings: sessions.SandboxSettings{Mode: "maybe"}, fails: "want one of [off optional required]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			workspace := filepath.Join(t.TempDir(), "main")
			b.SetAgent(sessions.Agent{ID: "main", Workspace: workspace, Sandbox: c.settings})
			err := b.SetupSandbox(t.Context())
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				require.False(t, b.Sandbox().Sandboxed)
				require.Equal(t, c.settings.Mode == sessions.SandboxRequired, b.Sandbox().Workspace != "", "it has its files")
				return
			}
			require.NoError(t, err)
			c.want.Workspace = filepath.Join(workspace, "sessions", string(b.Record().ID))
			require.Equal(t, c.want, b.Sandbox())
			info, err := os.Stat(c.want.Workspace)
			require.NoError(t, err)
			require.Equal(t, os.ModeDir|0o700, info.Mode())
			require.NoError(t, b.SetupSandbox(t.Context()), "again is all right")
		})
	}
}

func TestWorkspaceStaysWhereItIs(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.NoError(t, b.SetupSandbox(t.Context()), "an agent without a workspace")
	require.Equal(t, sessions.SandboxConfig{Mode: sessions.SandboxOff}, b.Sandbox())
	b.SetAgent(sessions.Agent{ID: "main", Sandbox: sessions.SandboxSettings{Mode: sessions.SandboxOptional}})
	require.ErrorContains(t, b.SetupSandbox(t.Context()), "absolute path")
	b.SetAgent(sessions.Agent{ID: "main", Workspace: "here"})
	require.ErrorContains(t, b.SetupSandbox(t.Context()), "absolute path")

	workspace, outside := t.TempDir(), t.TempDir()
	b.SetAgent(sessions.Agent{ID: "main", Workspace: workspace})
	require.NoError(t, os.Symlink(outside, filepath.Join(workspace, "sessions")))
	require.ErrorContains(t, b.SetupSandbox(t.Context()), "make folder of session")
	require.NoError(t, os.Remove(filepath.Join(workspace, "sessions")))
	require.NoError(t, os.MkdirAll(filepath.Join(workspace, "sessions", "other"), 0o700))
	require.NoError(t, os.Symlink("other", filepath.Join(workspace, "sessions", string(b.Record().ID))))
	require.ErrorContains(t, b.SetupSandbox(t.Context()), "is not a folder", "another session's folder")
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// A tool finds in its caller how commands are to be run.
func TestToolsSeeTheSandbox(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Calls("run", "{}", "a"))
	var seen sessions.SandboxConfig
	b.SetAgent(sessions.Agent{ID: "main", Workspace: t.TempDir(), Tools: []sessions.Tool{{
		Spec: sessions.ToolSpec{Name: "run"},
		Run: func(_ context.Context, caller sessions.Caller, _ json.RawMessage) (sessions.ToolResult, error) {
			seen = caller.Sandbox
			return sessions.ToolResult{Label: caller.Taint}, nil
		},
	}}})
	require.NoError(t, b.SetupSandbox(t.Context()))
	b.Append(user("run it"))
	_, err := step(t.Context(), b.Session)
	require.NoError(t, err)
	_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirm(b.PendingToolCalls()))
	require.NoError(t, err)
	require.Equal(t, b.Sandbox(), seen)
	require.NotEmpty(t, seen.Workspace)
}
