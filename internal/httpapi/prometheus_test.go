package httpapi_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/alert/intake"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/senders"
	"sluice/policy/flow"
)

// findPrometheus finds the real program: the installed one, or the one that tools/testdeps has unpacked.
func findPrometheus(t *testing.T) string {
	t.Helper()
	if found, err := exec.LookPath("prometheus"); err == nil {
		return found
	}
	unpacked, err := filepath.Abs("../../.bin/prometheus")
	require.NoError(t, err)
	if _, err := os.Stat(unpacked); err != nil && os.Getenv("CI") == "" {
		t.Skip("there is no prometheus: run tools/testdeps")
	}
	return unpacked
}

// prometheusConfig has one alert, which fires at once.
func prometheusConfig(t *testing.T, gateway string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	prometheusRule(t, dir, "vector(1) == 1")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(`global: { evaluation_interval: 1s, external_labels: { site: berlin } }
rule_files: [rules.yml]
alerting:
  alertmanagers:
    - authorization: { credentials: prometheus-token }
      static_configs: [{ targets: ["`+strings.TrimPrefix(gateway, "http://")+`"] }]
`), 0o600))
	return dir
}

// prometheusRule writes the rule of the alert.
func prometheusRule(t *testing.T, dir, expr string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), []byte(`groups:
  - name: test
    rules:
      - alert: Disk
        expr: `+expr+`
        labels: { severity: critical }
        annotations: { summary: "db1 is full", description: "since {{ $value }}" }
`), 0o600))
}

// TestPrometheusReportsToTheGateway: a real Prometheus fires an alert, repeats it, and says when it is over.
func TestPrometheusReportsToTheGateway(t *testing.T) {
	t.Parallel()
	program := findPrometheus(t)
	b := &board{silences: map[string]senders.Silence{}, arrived: make(chan struct{}, 1)}
	gateway := httptest.NewServer(serveSenders(t, newGateway(), func(c *httpapi.Config) {
		c.Now = time.Now
		c.Alerting = &senders.Alerting{Alerts: b, Silences: b, Tree: func() senders.Tree { return senders.Tree{ResolveTimeout: 5 * time.Minute} }}
	}))
	t.Cleanup(gateway.Close)
	dir := prometheusConfig(t, gateway.URL)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	run := exec.CommandContext(ctx, program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0", "--rules.alert.resend-delay=1s")
	run.Cancel = func() error { return run.Process.Signal(syscall.SIGTERM) }
	var log strings.Builder
	run.Stderr = &log
	require.NoError(t, run.Start())
	ended := make(chan struct{})
	go func() {
		_ = run.Wait() // it ends because it is told to
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})

	fired, resolved := intake.Event{}, intake.Event{}
	for resolved.Key == "" {
		select {
		case <-b.arrived:
		case <-ctx.Done():
			cancel()
			<-ended
			require.Fail(t, "Prometheus has not fired and resolved its alert", log.String())
		}
		b.mu.Lock()
		for i, e := range b.events {
			require.Equal(t, []any{"alertmanager/prometheus", flow.NewLabel(flow.Internal, flow.Untrusted)}, []any{b.from[i].Source, b.from[i].Label})
			if e.Action == intake.Resolve {
				resolved = e
			} else if fired.Key == "" {
				fired = e
				prometheusRule(t, dir, "vector(1) == 0") // the same alert, which is over now
				require.NoError(t, run.Process.Signal(syscall.SIGHUP))
			}
		}
		b.mu.Unlock()
	}
	require.Equal(t, map[string]string{"alertname": "Disk", "severity": "critical", "site": "berlin"}, fired.Labels)
	require.Equal(t, []any{intake.Critical, "db1 is full"}, []any{fired.Severity, fired.Title})
	require.Contains(t, fired.Text, "since 1")
	require.Contains(t, fired.Links[0].URL, "/graph?g0.expr=")
	require.True(t, fired.Ends.After(fired.Starts), "Prometheus says when the alert ends by itself")
	require.Equal(t, fired.Key, resolved.Key)
	require.Equal(t, fired.Starts, resolved.Starts)
}
