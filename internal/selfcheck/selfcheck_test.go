package selfcheck_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/selfcheck"
	"sluice/internal/watermark"
	"sluice/router/ledger"
)

func TestTheOwnerIsToldOnAChannelThatWorks(t *testing.T) {
	t.Parallel()
	state := func(channel, account string, status adapters.Status) adapters.State {
		return adapters.State{Channel: channel, Account: account, Status: status}
	}
	all := []adapters.State{
		state("webchat", "default", adapters.Connected), state("telegram", "old", adapters.Retrying), state("telegram", "main", adapters.Standby),
		state("slack", "work", adapters.Connected), state("discord", "x", adapters.Deaf),
	}
	place := func(owners []string, avoid string) string {
		p, _ := selfcheck.WorkingPlace(owners, all, avoid)
		return p.Channel + "/" + p.Account
	}
	owners := []string{"webchat:local", "discord:7", "telegram:1001", "slack:U1"}
	require.Equal(t, "telegram/main", place(owners, ""))
	require.Equal(t, "slack/work", place(owners, "telegram"))
	require.Equal(t, "webchat/default", place(owners[:3], "telegram"))
	require.Equal(t, "/", place(owners[1:3], "telegram"))
	require.Equal(t, "discord/x", place(owners[1:2], ""), "a disk without space makes the account deaf, and it can still send")
	require.Equal(t, "/", place(owners[1:2], "telegram"))

	all = []adapters.State{state("telegram", "main", adapters.Failed), state("discord", "x", adapters.Deaf)}
	require.Equal(t, "discord/x", place([]string{"telegram:1001", "discord:7"}, ""), "it can send")
	require.Equal(t, "telegram/main", place([]string{"telegram:1001", "slack:U1"}, ""), "the message waits")

	all = []adapters.State{state("telegram", "main", adapters.Standby), state("slack", "work", adapters.Standby)}
	require.Equal(t, "telegram/main", place(owners, ""), "it works on another replica")
	all[0].Elsewhere = "failed: the token is revoked"
	require.Equal(t, "slack/work", place(owners, ""))
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	var fault error
	disk := &watermark.Disk{
		Marks: func() watermark.Marks { return watermark.Marks{Warn: 2000} },
		Space: func(string) (int64, int64, error) { return 1500, 5000, fault },
	}
	found := []ledger.AuditFault{{Chain: 1}, {Chain: 2}}
	trail := &selfcheck.Trail{Log: slog.New(slog.DiscardHandler), Verify: func(context.Context, []ledger.AuditHead) (ledger.AuditReport, error) {
		return ledger.AuditReport{Faults: found}, nil
	}}
	reg := prometheus.NewPedanticRegistry()
	selfcheck.Register(reg, disk, trail)
	has := func(lines string) {
		require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(lines)))
	}
	audit := func(faults string) string {
		return "# HELP sluice_audit_faults Places where the audit trail was changed, as the last verification found.\n# TYPE sluice_audit_faults gauge\nsluice_audit_faults " + faults + "\n"
	}
	const room = `# HELP sluice_disk_free_bytes Free space on the disk of the state folder.
# TYPE sluice_disk_free_bytes gauge
sluice_disk_free_bytes 1500
# HELP sluice_disk_warn_bytes The owner is warned when less is free.
# TYPE sluice_disk_warn_bytes gauge
sluice_disk_warn_bytes 1000
`
	has(audit("0") + room) // a fifth of a small disk
	trail.Check(t.Context())
	has(audit("2") + room)
	fault, found = errors.New("not mounted"), nil
	trail.Check(t.Context())
	has(audit("0"))
}

func TestDifferencesBetweenReplicas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		unlike map[string][]string
		want   []string
	}{
		"none":               {nil, nil},
		"a newer version":    {map[string][]string{"version": {"b"}, "config/agents": {"b"}}, nil},
		"another database":   {map[string][]string{"database": {"b"}, "config/agents": {"b"}}, []string{"replicas/database"}},
		"two sections":       {map[string][]string{"config/models": {"b"}, "config/agents": {"b", "c"}}, []string{"replicas/config: agents, models"}},
		"also of the newer":  {map[string][]string{"version": {"b"}, "config/agents": {"b", "c"}}, []string{"replicas/config: agents"}},
		"database and other": {map[string][]string{"database": {"b"}, "config/agents": {"c"}}, []string{"replicas/database", "replicas/config: agents"}},
	} {
		var got []string
		for _, d := range selfcheck.Differences(c.unlike) {
			if _, sections, ok := strings.Cut(d.Title, ": "); ok {
				d.Name += ": " + sections
			}
			got = append(got, d.Name)
		}
		require.Equal(t, c.want, got, name)
	}
}
