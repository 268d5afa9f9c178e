package app_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/alert"
	"sluice/internal/trouble"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// A gateway names its own troubles, each with the level of what it is about.
func TestTroublesOfTheGateway(t *testing.T) {
	t.Parallel()
	bots := telegramtest.Start(t, telegramtest.Options{})
	bots.Inject(telegramtest.Revoked().For(telegramtest.Always)) // so the account never works
	g := start(t, `owners: ["telegram:1001"]
channels: { telegram: { classification: INTERNAL, accounts: { default: { token: "`+telegramtest.DefaultToken+`", apiBase: "`+bots.URL()+`" } } } }
limits: { reserveBytes: 1MiB, workspaceBytes: 1MiB }
`)
	named := func() map[string]trouble.Trouble {
		found, err := g.Troubles(t.Context())
		require.NoError(t, err)
		all := map[string]trouble.Trouble{}
		for _, f := range found {
			all[f.Name] = f
		}
		return all
	}
	for _, name := range []string{"dead-letters", "space", "space/main", "open-alerts"} {
		require.NotContains(t, named(), name)
	}

	record := sessions.Record{ID: sessions.NewID(), Key: "agent:main:main", Agent: "main", Taint: flow.Bottom(), Clearance: flow.Restricted, Created: time.Now(), LastActivity: time.Now()}
	require.NoError(t, g.Store().CommitSession(t.Context(), sessions.Change{Create: []sessions.Record{record}}))
	now := time.Now()
	require.NoError(t, g.Store().Commit(t.Context(), ledger.Change{Deliver: []ledger.Delivery{{
		ID: ledger.NewDeliveryID(), Session: record.ID, Status: ledger.DeliveryFailed, Kind: ledger.KindMessage, Lane: "telegram/1001", Text: "x",
		Route: sessions.Route{Channel: "telegram", Account: "default", Conversation: "1001"}, Label: flow.NewLabel(flow.Confidential, flow.Trusted), Created: now, Expires: now.Add(time.Hour),
	}}}))
	dead := named()["dead-letters"]
	require.Equal(t, alert.Warning, dead.Severity)
	require.Equal(t, flow.Confidential, dead.Level, "that there is one says something about its session")

	require.NoError(t, g.Store().Commit(t.Context(), ledger.Change{Media: []ledger.Media{{ID: "med_1", Name: "x", Size: 850 << 10, Label: flow.Bottom(), Created: now}}}))
	folder := filepath.Join(g.state, "workspaces", "main", "sessions", string(record.ID))
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, g.Quota().Admit(t.Context(), folder, 850<<10))
	var open ledger.Change
	for i := range 8_000 {
		open.Alerts = append(open.Alerts, alert.Alert{Key: strconv.Itoa(i), Status: alert.Firing, Severity: alert.Info, Label: flow.Bottom(), Started: now, Revision: 1})
	}
	require.NoError(t, g.Store().Commit(t.Context(), open))
	require.Equal(t, "The space for files that programs send is nearly used up (limits.workspaceBytes)", named()["space"].Title)
	require.Equal(t, "The workspace of agent main is nearly full (limits.workspaceBytes)", named()["space/main"].Title)
	require.Equal(t, "Nearly 10000 alerts are open", named()["open-alerts"].Title)

	account := named()["telegram/default"]
	require.Equal(t, alert.Error, account.Severity)
	require.Equal(t, flow.Internal, account.Level)
	require.Equal(t, "telegram/default does not work", account.Title)
}
