package app_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/router/ledger"
)

const hookAlertsText = `
owners: ["webchat:local"]
targets: { ops: { channel: webchat, to: local } }
alerts:
  route: { receiver: ops, group_by: [key], group_wait: 1ms, group_interval: 1s }
  receivers: [{ name: ops, targets: [ops] }]
hooks:
  ci: { preset: alertmanager, signature: github, secrets: ["` + hookSecret + `"], classification: PUBLIC, alert: {} }
`

const (
	firingDisk = `{"version":"4","groupKey":"{}:{alertname=\"Disk\"}","status":"firing","receiver":"sluice","alerts":[
		{"status":"firing","labels":{"alertname":"Disk","severity":"critical"},"annotations":{"summary":"The disk is full"},"startsAt":"2026-11-20T10:00:00Z","endsAt":"0001-01-01T00:00:00Z","fingerprint":"0123456789abcdef"},
		{"status":"firing","labels":{"alertname":"Net"},"startsAt":"2026-11-20T10:00:00Z","endsAt":"0001-01-01T00:00:00Z","fingerprint":"fedcba9876543210"}]}`
	diskKey = "hook/ci/0123456789abcdef"
	netKey  = "hook/ci/fedcba9876543210"
)

// shownAlert is an alert as HTTP shows it.
type shownAlert struct {
	Status, Severity, Title, Source, Label string
	Occurrences                            int
	Notifications                          []struct{ Reason string }
}

func (g *gateway) alert(key string) shownAlert {
	g.t.Helper()
	var x shownAlert
	read(g.t, g.call("GET", "/v1/alerts/"+url.PathEscape(key), ""), http.StatusOK, &x)
	return x
}

// notified waits until people were told of an alert so often.
func (g *gateway) notified(key string, times int) shownAlert {
	g.t.Helper()
	deadline := time.After(patience)
	for {
		if x := g.alert(key); len(x.Notifications) >= times {
			return x
		}
		select {
		case <-g.committed:
		case <-deadline:
			require.Fail(g.t, "no notification of "+key)
		}
	}
}

// A request of Alertmanager is an alert for each entry of its list; its replay is one more occurrence, and nobody is told again.
func TestHookReportsAlerts(t *testing.T) {
	t.Parallel()
	g := start(t, hookAlertsText)
	status, got := g.post("", firingDisk)
	require.Equal(t, http.StatusAccepted, status)
	first := g.request(got)
	require.Equal(t, []any{ledger.TriggerOK, []string{diskKey, netKey}, ""}, []any{first.Status, first.Alerts, string(first.Run)}, first.Why)
	disk := g.notified(diskKey, 1)
	require.Equal(t, []any{"firing", "critical", "The disk is full", "hook/ci", "PUBLIC/untrusted", 1}, []any{disk.Status, disk.Severity, disk.Title, disk.Source, disk.Label, disk.Occurrences})
	require.Equal(t, "warning", g.notified(netKey, 1).Severity)

	var again struct{ ID string }
	resp := g.call("POST", "/v1/hooks/ci/requests/"+got+"/replay", "")
	require.Equal(t, http.StatusAccepted, resp.StatusCode)
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&again))
	require.NoError(t, resp.Body.Close())
	require.Equal(t, []string{diskKey, netKey}, g.request(again.ID).Alerts)
	disk = g.alert(diskKey)
	require.Equal(t, 2, disk.Occurrences)

	_, over := g.post("", strings.ReplaceAll(strings.ReplaceAll(firingDisk, `"status":"firing"`, `"status":"resolved"`), "0001-01-01T00:00:00Z", "2026-11-20T11:00:00Z"))
	require.Equal(t, ledger.TriggerOK, g.request(over).Status)
	require.Equal(t, "resolved", g.alert(diskKey).Status)
	disk = g.notified(diskKey, 2)
	require.Equal(t, []string{"all_resolved", "first"}, reasons(disk), "a replay is no notification")

	var list struct{ Requests []struct{ Alerts []string } }
	read(t, g.call("GET", "/v1/hooks/ci/requests", ""), http.StatusOK, &list)
	require.Equal(t, []string{diskKey, netKey}, list.Requests[2].Alerts)
}

func reasons(x shownAlert) []string {
	var all []string
	for _, n := range x.Notifications {
		all = append(all, n.Reason)
	}
	return all
}

// What can't be an alert is listed with the reason and keeps nothing else out.
func TestHookListsWhatIsNoAlert(t *testing.T) {
	t.Parallel()
	g := start(t, hookAlertsText)
	_, got := g.post("", strings.Replace(firingDisk, `{"alertname":"Net"}`, `{}`, 1))
	failed := g.request(got)
	require.Equal(t, []any{ledger.TriggerFailed, []string{diskKey}}, []any{failed.Status, failed.Alerts})
	require.Contains(t, failed.Why, "alert 1: at least one label pair required")
	require.Equal(t, "firing", g.alert(diskKey).Status)
	_, got = g.post("", `{"alerts":[`+strings.Repeat(`{"labels":{"a":"b"}},`, 500)+`{"labels":{"a":"b"}}]}`)
	require.Contains(t, g.request(got).Why, "there are 501, the maximum is 500")
	_, got = g.post("", `{"hello":1}`)
	require.Contains(t, g.request(got).Why, "it has no alerts")

	var test struct {
		Alerts []struct{ Key, Action, Severity string }
	}
	body, err := json.Marshal(map[string]string{"payload": firingDisk})
	require.NoError(t, err)
	read(t, g.call("POST", "/v1/hooks/ci/test", string(body)), http.StatusOK, &test)
	require.Equal(t, []string{diskKey, "fire", "critical"}, []string{test.Alerts[0].Key, test.Alerts[0].Action, test.Alerts[0].Severity})
}

// The example can be loaded, and says what is missing without alerts.
func TestExampleOfAlertsByHooks(t *testing.T) {
	for _, name := range []string{"ALERTMANAGER_TOKEN", "GRAFANA_HOOK_SECRET", "SENTRY_CLIENT_SECRET", "GITHUB_HOOK_SECRET", "BACKUP_TOKEN"} {
		t.Setenv(name, "a-secret-of-the-test-"+name)
	}
	t.Setenv("TELEGRAM_TOKEN", "1001:a-token-of-the-test")
	cfg, err := config.System().Load("../../examples/alerts-by-hooks.yaml")
	require.NoError(t, err)
	faults := map[string]string{}
	for _, h := range cfg.ReadHooks(func(path, text string) { faults[path] = text }) {
		require.True(t, h.Reports(), h.Name)
	}
	require.Empty(t, faults)
	cfg.Alerts.Route.Receiver = ""
	cfg.ReadHooks(func(path, text string) { faults[path] = text })
	require.Contains(t, faults["hooks.grafana.alert"], "add alerts.route.receiver")
}
