package doctor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/internal/config/automation"
	"sluice/internal/config/scalar"
)

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, target, owner string
		checks              []string
		want, mark          string
	}{
		"instructions":  {"- mail", "", "webchat:local", nil, "every 30m", "ok"},
		"checks":        {"", "", "webchat:local", []string{"ci"}, "every 30m", "ok"},
		"nothing to do": {"# Look", "", "webchat:local", nil, "never asks the agent", "note"},
		"nobody":        {"- mail", "", "", nil, "has nobody to notify", "fix"},
		"a target":      {"- mail", "ops", "", nil, "every 30m", "ok"},
		"too long":      {string(make([]byte, 40<<10)), "", "webchat:local", nil, "more than 32768 bytes", "fix"},
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "HEARTBEAT.md"), []byte(c.file), 0o600))
		cfg := &config.Config{}
		if c.owner != "" {
			cfg.Owners = []string{c.owner}
		}
		cfg.Agents.List = []config.Agent{{ID: "quiet"}, {
			ID: "main", Workspace: dir, Heartbeat: automation.Heartbeat{Every: scalar.Duration(30 * time.Minute), Target: c.target, Checks: c.checks},
		}}
		found := heartbeats(cfg)
		require.Len(t, found, 1, name)
		require.Equal(t, "heartbeat/main", found[0].part)
		require.Contains(t, found[0].text, c.want, name)
		require.Equal(t, c.mark == "note", found[0].note, name)
		require.Equal(t, c.mark == "ok", found[0].fix == "", name)
	}
}
