package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

// Sessions move from one gateway, which runs, to another one.
func TestSessionsAreExportedAndImported(t *testing.T) {
	t.Parallel()
	from, to := sqlitetest.Dir(t), sqlitetest.Dir(t)
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: from})
	require.NoError(t, err)
	defer db.Close() //nolint:errcheck // as a gateway that runs
	secret := flow.NewLabel(flow.Confidential, flow.Trusted)
	for n, agent := range []string{"old", "main"} {
		label := []flow.Label{flow.Bottom(), secret}[n]
		r := sessions.Record{
			ID: sessions.NewID(), Key: sessions.Key("agent:" + agent + ":telegram:group:-" + agent), Agent: agent, Taint: label, Clearance: flow.Restricted,
			Created: now, LastActivity: now.Add(time.Duration(n) * time.Hour),
		}
		m := sessions.Message{ID: sessions.NewMessageID(), Role: sessions.RoleUser, Label: label, Created: now, Parts: []sessions.Part{sessions.TextPart("the ferry", label)}}
		require.NoError(t, db.Commit(t.Context(), ledger.Change{Change: sessions.Change{Create: []sessions.Record{r}, Messages: []sessions.StoredMessage{{Session: r.ID, Message: m}}}}))
	}
	source, target := map[string]string{"SLUICE_STATE": from}, map[string]string{"SLUICE_STATE": to}
	got := execute(t, source, "export", "--level", "PUBLIC")
	require.Equal(t, cli.ExitDone, got.code, got.err)
	require.Equal(t, 4, strings.Count(got.out, "\n"), "only what may be seen")
	require.NotContains(t, got.out, "CONFIDENTIAL")
	require.Equal(t, cli.ExitUsage, execute(t, source, "export", "--level", "HIGH").code)

	file := filepath.Join(t.TempDir(), "sessions.jsonl")
	got = execute(t, source, "export", "--to", file)
	require.Equal(t, cli.ExitDone, got.code, got.err)
	require.Contains(t, got.out, "2 sessions with 2 messages")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	leftovers, err := filepath.Glob(filepath.Join(from, "*work*"))
	require.NoError(t, err)
	require.Empty(t, leftovers)

	got = execute(t, target, "import", file)
	require.Equal(t, cli.ExitFailed, got.code)
	require.Contains(t, got.err, `line 4: there is no agent "old"`)
	require.Contains(t, got.err, "1 new sessions with 1 new messages were imported before this error")
	require.Equal(t, cli.ExitUsage, execute(t, target, "import", file, "--agent", "old=nobody").code)
	for _, want := range []string{"1 new sessions with 1 new messages", "0 new sessions with 0 new messages"} {
		got = execute(t, target, "import", file, "--agent", "old=main")
		require.Equal(t, cli.ExitDone, got.code, got.err)
		require.Contains(t, got.out, want)
	}
	other, err := sqlite.Open(t.Context(), sqlite.Config{Dir: to})
	require.NoError(t, err)
	defer other.Close() //nolint:errcheck // it was only read
	r, err := other.SessionByKey(t.Context(), "agent:main:telegram:group:-old")
	require.NoError(t, err)
	require.Equal(t, "main", r.Agent)
}
