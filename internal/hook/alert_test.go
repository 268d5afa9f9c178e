package hook_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/alert/intake"
	"sluice/internal/hook"
)

var received = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// said is what a hook makes of a payload.
func said(t *testing.T, preset string, s hook.AlertSpec, payload string, headers ...string) (hook.Alerts, error) {
	t.Helper()
	m := compile(t, hook.Spec{Preset: preset, Alert: &s, Secrets: []string{secret}})
	require.True(t, m.Reports())
	return m.Alerts(read(t, payload, headers...), hook.Request{Type: "application/json", Payload: []byte(payload)}, received)
}

func short(all hook.Alerts) string {
	var lines []string
	for _, a := range all.List {
		lines = append(lines, fmt.Sprintf("%s %s %s %s: %s | %s", a.Action, a.Key, a.Severity, a.Source, a.Title, strings.ReplaceAll(a.Text, "\n", "/")))
	}
	for _, fault := range all.Faults {
		lines = append(lines, "! "+fault.Error())
	}
	return strings.Join(lines, "\n")
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name + ".json")
	require.NoError(t, err)
	return string(raw)
}

// Presets need no settings for alerts. The payloads are those that the senders document.
func TestPresetsAsAlerts(t *testing.T) {
	t.Parallel()
	const both = `{"version":"4","groupKey":"{}:{}","truncatedAlerts":0,"status":"firing","alerts":[
		{"status":"resolved","labels":{"alertname":"Disk","severity":"page"},"annotations":{"description":"97 %"},"startsAt":"2026-11-23T10:00:00Z","endsAt":"2026-11-23T11:00:00Z","fingerprint":"0123456789abcdef"},
		{"status":"firing","labels":{}},
		{"status":"firing","labels":{"alertname":"Net"},"startsAt":"2026-11-23T10:00:00Z","endsAt":"0001-01-01T00:00:00Z","fingerprint":"fedcba9876543210"}]}`
	for name, c := range map[string]struct{ preset, payload, want string }{
		"alertmanager": {"alertmanager", recorded(t, "alertmanager"), "fire hook/ci/" + intake.Fingerprint(map[string]string{"alertname": "DiskFull", "severity": "critical", "instance": "db-1:9100"}) + " critical hook/ci: Disk of db-1 is 95 % full | "},
		"grafana":      {"grafana", recorded(t, "grafana"), "fire hook/ci/" + intake.Fingerprint(map[string]string{"alertname": "High latency", "severity": "warning"}) + " warning hook/ci: p99 above 1 s | Since the last deploy./See the runbook."},
		"several":      {"alertmanager", both, "resolve hook/ci/0123456789abcdef critical hook/ci: Disk | 97 %\nfire hook/ci/fedcba9876543210 warning hook/ci: Net | \n! alert 1: at least one label pair required"},
		"left out by the sender": {
			"grafana", `{"alerts":[{"labels":{"a":"b"},"fingerprint":"0123456789abcdef"}],"truncatedAlerts":3}`,
			"fire hook/ci/0123456789abcdef warning hook/ci: alert " + intake.Fingerprint(map[string]string{"a": "b"}) + " | \n! the sender has left out 3 alerts: raise its max_alerts",
		},
		"sentry":          {"sentry", recorded(t, "sentry"), "fire hook/ci/1170820242 error hook/ci: TypeError: x is undefined | app/checkout in pay"},
		"sentry resolved": {"sentry", strings.Replace(recorded(t, "sentry"), "created", "resolved", 1), "resolve hook/ci/1170820242  hook/ci: TypeError: x is undefined | app/checkout in pay"},
		"sentry metric":   {"sentry", `{"action":"critical","data":{"metric_alert":{"id":7,"title":"Slow"},"description_text":"p95 above 2 s","web_url":"https://sentry.example/7"}}`, "fire hook/ci/metric-7 critical hook/ci: Slow | p95 above 2 s"},
		"generic":         {"generic", `{"key":"backup","title":"No backup","severity":"error","text":"since Monday"}`, "fire hook/ci/backup error hook/ci: No backup | since Monday"},
		"generic, over":   {"generic", `{"key":"backup","status":"resolved"}`, "resolve hook/ci/backup  hook/ci: hook/ci/backup | "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := said(t, c.preset, hook.AlertSpec{}, c.payload)
			require.NoError(t, err)
			require.Equal(t, c.want, short(got))
		})
	}
}

// Templates replace what a preset says, for each alert of a list on its own.
func TestTemplatesOfAlerts(t *testing.T) {
	t.Parallel()
	s := hook.AlertSpec{
		Key: "{{.alert.labels.host}}:{{.alert.labels.alertname}}", Severity: "{{default \"info\" .alert.labels.level}}", Title: "{{.alert.labels.alertname}}\n on {{.alert.labels.host}}",
		Source: "prom-{{.payload.receiver}}", Labels: map[string]string{"team": "{{.payload.receiver}}", "level": "", "none": "{{.alert.none}}"},
		Links: []hook.LinkSpec{{Title: "Host", URL: "https://hosts.example/{{.alert.labels.host}}"}, {URL: "javascript:alert(1)"}},
	}
	got, err := said(t, "alertmanager", s, `{"receiver":"db","alerts":[
		{"labels":{"alertname":"Disk","host":"a","level":"P1"}},{"labels":{"alertname":"Disk","host":"b","level":"odd"}},{"labels":{"alertname":"Disk","host":"c"}}]}`)
	require.NoError(t, err)
	require.Equal(t, "fire hook/ci/a:Disk critical hook/ci/prom-db: Disk on a | \nfire hook/ci/c:Disk info hook/ci/prom-db: Disk on c | \n! alert 1: severity: \"odd\": want critical, error, warning or info", short(got))
	require.Equal(t, map[string]string{"alertname": "Disk", "host": "a", "team": "db"}, got.List[0].Labels)
	require.Equal(t, []intake.Link{{Title: "Host", URL: "https://hosts.example/a"}}, got.List[0].Links)
}

// A request that is no alert says why.
func TestRequestsThatAreNoAlerts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ preset, payload, want string }{
		"no key":         {"generic", `{"title":"x"}`, "key: is empty"},
		"other severity": {"generic", `{"key":"a","severity":"odd"}`, `severity: "odd": want critical`},
		"other status":   {"generic", `{"key":"a","status":"maybe"}`, `status: "maybe": want firing or resolved`},
		"no list":        {"alertmanager", `{"status":"firing"}`, "it has no alerts"},
		"two lists":      {"alertmanager", `{"alerts":[],"ALERTS":[{"labels":{"a":"b"}}]}`, "several lists"},
	} {
		_, err := said(t, c.preset, hook.AlertSpec{}, c.payload)
		require.ErrorContains(t, err, c.want, name)
	}
}

func TestLongKeysAreHashed(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	for _, end := range []string{"a", "b"} {
		got, err := said(t, "generic", hook.AlertSpec{}, `{"key":"`+strings.Repeat("x", 300)+end+`"}`)
		require.NoError(t, err)
		require.Len(t, got.List[0].Key, len("hook/ci/")+64)
		keys[got.List[0].Key] = true
	}
	require.Len(t, keys, 2)
}

// Faults are found when the file is loaded.
func TestFaultsOfAlerts(t *testing.T) {
	t.Parallel()
	for setting, c := range map[string]struct {
		preset string
		spec   hook.AlertSpec
		want   string
	}{
		"alert.key":          {"github", hook.AlertSpec{Title: "x"}, "is missing: the preset github has no default"},
		"alert.title":        {"stripe", hook.AlertSpec{Key: "x"}, "is missing: the preset stripe has no default"},
		"alert.text":         {"generic", hook.AlertSpec{Text: "{{"}, "unclosed action"},
		"alert.severity":     {"generic", hook.AlertSpec{Severity: "odd"}, `"odd": want critical, error, warning or info`},
		"alert.status":       {"generic", hook.AlertSpec{Status: "odd"}, `"odd": want firing or resolved`},
		"alert.labels.a":     {"generic", hook.AlertSpec{Labels: map[string]string{"a": "{{.x"}}, "unclosed action"},
		"alert.links[0].url": {"generic", hook.AlertSpec{Links: []hook.LinkSpec{{Title: "x"}}}, "is missing"},
	} {
		faults := map[string]string{}
		hook.Compile(hook.Spec{Name: "ci", Preset: c.preset, Secrets: []string{secret}, Alert: &c.spec}, func(setting, text string) { faults[setting] = text })
		if c.preset == "stripe" {
			delete(faults, "secrets[0]")
		}
		require.Len(t, faults, 1, setting)
		require.ErrorContains(t, errors.New(faults[setting]), c.want)
	}
}
