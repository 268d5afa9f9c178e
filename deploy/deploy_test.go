// Package deploy_test checks the files of this folder as far as that needs no other program; `make deploy-check` does
// the rest.
package deploy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"sluice/internal/config"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	require.NoError(t, err)
	return string(text)
}

// Each metric that a rule or the dashboard asks for is one that the program has.
func TestMetricsExist(t *testing.T) {
	t.Parallel()
	literal := regexp.MustCompile(`"[a-z_]+"`)
	var files []map[string]bool // the literals of each source file with metrics
	require.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Clean(path))
		if err == nil && strings.Contains(string(text), "prometheus.") {
			found := map[string]bool{}
			for _, l := range literal.FindAllString(string(text), -1) {
				found[strings.Trim(l, `"`)] = true
			}
			files = append(files, found)
		}
		return err
	}))
	has := func(metric string) bool {
		rest, _ := strings.CutPrefix(metric, "sluice_")
		subsystem, name, _ := strings.Cut(rest, "_")
		for _, f := range files {
			if f[metric] || f["sluice"] && (f[rest] || f[subsystem] && f[name]) {
				return true
			}
		}
		return false
	}
	require.True(t, has("sluice_router_partitions"))
	require.False(t, has("sluice_router_partition"))
	asked := 0
	for _, file := range []string{"prometheus/sluice.rules.yaml", "prometheus/sluice.rules.test.yaml", "grafana/sluice.json"} {
		for _, metric := range regexp.MustCompile(`\bsluice_[a-z_]+`).FindAllString(read(t, file), -1) {
			asked++
			base := regexp.MustCompile(`_bucket$`).ReplaceAllString(metric, "")
			require.True(t, has(base), "%s: there is no metric %s", file, metric)
		}
	}
	require.Greater(t, asked, 60)

	// Each counter and histogram is on the dashboard.
	dashboard, shown := read(t, "grafana/sluice.json"), 0
	for _, f := range files {
		for name := range f {
			if strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_seconds") {
				shown++
				require.Regexp(t, `sluice_([a-z]+_)?`+strings.TrimPrefix(name, "sluice_")+`(_bucket)?\b`, dashboard)
			}
		}
	}
	require.Greater(t, shown, 40)
}

// Each alert has a page, and each page an alert.
func TestAlertsHavePages(t *testing.T) {
	t.Parallel()
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				Labels      map[string]string `yaml:"labels"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "prometheus/sluice.rules.yaml")), &rules))
	pages := map[string]bool{}
	tests := read(t, "prometheus/sluice.rules.test.yaml")
	for _, r := range rules.Groups[0].Rules {
		page := r.Annotations["runbook"]
		require.Equal(t, "docs/runbooks/"+r.Alert+".md", page)
		require.True(t, strings.HasPrefix(read(t, "../"+page), "# "+r.Alert+"\n"), page)
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		require.Contains(t, []string{"warning", "critical"}, r.Labels["severity"])
		for _, metric := range regexp.MustCompile(`sluice_[a-z_]+`).FindAllString(r.Expr, -1) {
			require.Contains(t, tests, metric, "%s is not tested", r.Alert)
		}
		pages[filepath.Base(page)] = true
	}
	there, err := filepath.Glob("../docs/runbooks/*.md")
	require.NoError(t, err)
	require.Len(t, there, len(pages))
}

// With sandbox.conf, the unit permits what bubblewrap does: it calls capset, mount, pivot_root, sethostname and umount2 in
// namespaces of its own, opens a netlink socket, and mounts /proc. All else that it calls is in @system-service.
func TestTheSandboxWorksInTheService(t *testing.T) {
	t.Parallel()
	set := map[string]string{} // a later line replaces an earlier one, or adds to it
	for line := range strings.Lines(read(t, "systemd/sluice.service") + read(t, "systemd/sandbox.conf")) {
		key, value, found := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case !found || strings.HasPrefix(key, "#"):
		case key == "SystemCallFilter" || key == "RestrictAddressFamilies":
			set[key] += " " + value
		default:
			set[key] = value
		}
	}
	require.Equal(t, " @system-service ~@privileged @resources @mount @privileged", set["SystemCallFilter"])
	require.Contains(t, strings.Fields(set["RestrictAddressFamilies"]), "AF_NETLINK")
	require.Equal(t, "default", set["ProtectProc"])
	for _, key := range []string{"RestrictNamespaces", "PrivateUsers", "ProtectKernelTunables", "ProtectKernelLogs", "ProtectControlGroups", "ProtectHostname"} {
		require.Equal(t, "no", set[key], key)
	}
}

// The configurations are right.
func TestConfigurationsLoad(t *testing.T) {
	t.Parallel()
	secrets := t.TempDir()
	for name, text := range map[string]string{"token": "0123456789abcdef", "store": "postgres://sluice@postgres/sluice", "bus": "nats://u:p@nats-1:4222"} {
		require.NoError(t, os.WriteFile(filepath.Join(secrets, name), []byte(text+"\n"), 0o600))
	}
	for _, file := range []string{"compose/one/sluice.yaml", "compose/replicas/sluice.yaml", "systemd/sluice.yaml"} {
		loader := config.Loader{Home: t.TempDir(), Getenv: func(name string) (string, bool) { return "sluice.example", name == "SLUICE_HOST" }}
		text := strings.ReplaceAll(read(t, file), "/run/secrets/", secrets+"/")
		_, err := loader.Parse(file, []byte(text))
		require.NoError(t, err, file)
	}
}

// What Compose mounts is there.
func TestComposeMountsWhatExists(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"compose/one", "compose/replicas"} {
		var file struct {
			Services map[string]struct {
				Volumes []string `yaml:"volumes"`
				Secrets []string `yaml:"secrets"`
			} `yaml:"services"`
			Volumes map[string]any               `yaml:"volumes"`
			Secrets map[string]map[string]string `yaml:"secrets"`
		}
		require.NoError(t, yaml.Unmarshal([]byte(read(t, dir+"/compose.yaml")), &file))
		require.NotEmpty(t, file.Services)
		for name, s := range file.Services {
			for _, v := range s.Volumes {
				from, _, _ := strings.Cut(v, ":")
				if strings.HasPrefix(from, ".") {
					require.FileExists(t, filepath.Join(dir, from), name)
				} else {
					require.Contains(t, file.Volumes, from, name)
				}
			}
			for _, secret := range s.Secrets {
				require.Contains(t, file.Secrets, secret, name)
			}
		}
	}
}
