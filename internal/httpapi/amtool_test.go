package httpapi_test

import (
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/senders"
	"sluice/policy/flow"
)

// amtool is the real program, of the version that go.mod names. It is built once a machine; go's build cache has it later.
func amtool(t *testing.T) string {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "github.com/prometheus/alertmanager").Output()
	require.NoError(t, err)
	dir, err := filepath.Abs("../../.bin")
	require.NoError(t, err)
	build := exec.CommandContext(t.Context(), "go", "install", "github.com/prometheus/alertmanager/cmd/amtool@"+strings.TrimSpace(string(version)))
	build.Env = append(os.Environ(), "GOBIN="+dir, "CGO_ENABLED=0", "GOFLAGS=")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return filepath.Join(dir, "amtool")
}

// TestAmtoolDrivesTheGateway: what people type at a shift, against the API alone.
func TestAmtoolDrivesTheGateway(t *testing.T) {
	t.Parallel()
	program := amtool(t)
	b := &board{live: true, silences: map[string]senders.Silence{}}
	gateway := httptest.NewServer(serveSenders(t, newGateway(), func(c *httpapi.Config) {
		c.Now = time.Now
		c.Alerting = &senders.Alerting{Alerts: b, Silences: b, Tree: func() senders.Tree {
			return senders.Tree{Receivers: []string{"ops"}, ResolveTimeout: 5 * time.Minute, Original: "route: { receiver: ops }\nreceivers: [{ name: ops }]\n"}
		}}
		c.Access.Tokens = append(c.Access.Tokens, auth.Credential{Name: "shift", Token: "shift-token", Level: flow.Internal, Role: auth.RoleOperator})
	}))
	t.Cleanup(gateway.Close)
	at, err := url.Parse(gateway.URL)
	require.NoError(t, err)
	try := func(token string, args ...string) (string, error) {
		at.User = url.UserPassword("any", token)
		run := exec.CommandContext(t.Context(), program, append([]string{"--alertmanager.url=" + at.String()}, args...)...)
		run.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := run.CombinedOutput()
		return string(out), err
	}
	do := func(args ...string) string {
		out, err := try("shift-token", args...)
		require.NoError(t, err, "%s: %s", args, out)
		require.NotContains(t, out, "Warning", "amtool takes the gateway for another version")
		return out
	}

	do("alert", "add", "Disk", "host=db1", "severity=critical", "--annotation=summary=full", "--generator-url=http://prom.example/graph")
	do("alert", "add", "alertname=CPU", "host=db2")
	out := do("alert", "query")
	require.Contains(t, out, "Disk")
	require.Contains(t, out, "full")
	require.Contains(t, do("alert", "query", "-o", "extended", "host=db1"), "http://prom.example/graph")
	require.NotContains(t, do("alert", "query", "host=db1"), "CPU")
	require.NotContains(t, do("alert", "query", "host!=db1"), "Disk")

	id := strings.TrimSpace(do("silence", "add", "alertname=~Di.*", "host=db1", "--duration=1h", "--comment=repair", "--author=ada"))
	require.Len(t, id, 36)
	out = do("silence", "query")
	require.Contains(t, out, id)
	require.Contains(t, out, "ada")
	require.Contains(t, out, "repair")
	require.NotContains(t, do("alert", "query"), "Disk", "it is silenced")
	require.Contains(t, do("alert", "query", "--silenced"), "Disk")
	require.Contains(t, do("silence", "update", id, "--duration=2h", "--comment=longer"), id)
	require.Contains(t, do("silence", "query", "-o", "json"), `"comment":"longer"`)
	do("silence", "expire", id)
	require.NotContains(t, do("silence", "query"), id)
	require.Contains(t, do("silence", "query", "--expired"), id)
	require.Contains(t, do("alert", "query"), "Disk")

	do("alert", "add", "Disk", "host=db1", "severity=critical", "--end="+time.Now().Add(-time.Minute).Format(time.RFC3339), "--start="+time.Now().Add(-time.Hour).Format(time.RFC3339))
	require.NotContains(t, do("alert", "query"), "Disk", "it is resolved")
	require.Contains(t, do("cluster", "show"), "disabled")

	config, err := try(token, "config", "routes", "test", "alertname=Disk")
	require.NoError(t, err, config)
	require.Contains(t, config, "ops")

	for args, says := range map[string]string{
		"silence expire 00000000-0000-4000-8000-00000000000f":                    "deletesilencenotfound",
		"alert add Disk --end=2020-01-01T00:00:00Z --start=2021-01-01T00:00:00Z": "start time must be before end time",
	} {
		out, err := try("shift-token", strings.Fields(args)...)
		require.Error(t, err, args)
		require.Contains(t, strings.ToLower(out), says)
	}
	out, err = try("wrong-token", "alert", "query")
	require.Error(t, err)
	require.Contains(t, out, "401")
	out, err = try("board-token", "alert", "add", "Disk")
	require.Error(t, err)
	require.Contains(t, out, "403")
}
