package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
)

// Doctor says why the texts of a hook or a check would be withheld.
func TestWithheldTexts(t *testing.T) {
	t.Parallel()
	const head = `owners: ["telegram:1"]
channels:
  telegram: { accounts: { default: { token: "1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" } } }
  slack: { classification: CONFIDENTIAL, accounts: { default: { botToken: xoxb-1, appToken: xapp-1 } } }
targets:
  ops: { channel: slack, to: C1, classification: INTERNAL }
  new: { channel: slack, to: C3 }
  low: { channel: slack, to: C2, classification: PUBLIC }
checks: { api: { file: /x } }
`
	for name, c := range map[string]struct{ with, part, text, mark string }{
		"hook for the owner":    {`hooks: { ci: { secrets: [0123456789abcdef] } }`, "hook/ci", "its texts are INTERNAL and are withheld: owner is on telegram, which may know PUBLIC", "fix"},
		"owner on the page too": {`hooks: { ci: { secrets: [0123456789abcdef] } }`, "hook/ci", "owner is on telegram, which may know PUBLIC", "fix"},
		"public hook":           {`hooks: { ci: { secrets: [0123456789abcdef], classification: PUBLIC } }`, "", "", ""},
		"hook with a fallback":  {`hooks: { ci: { secrets: [0123456789abcdef], deliver: { to: ["telegram:1"], fallback: [ops] } } }`, "hook/ci", "telegram:1 is on telegram", "note"},
		"target with a level":   {`hooks: { ci: { secrets: [0123456789abcdef], deliver: { to: [low] } } }`, "hook/ci", "low is on slack, which may know PUBLIC", "fix"},
		"check":                 {`cron: { jobs: [{ id: look, every: 1m, check: api }] }`, "job/look", "its texts are INTERNAL", "fix"},
		"check for ops":         {`cron: { jobs: [{ id: look, every: 1m, check: api, deliver: { to: [ops] } }] }`, "", "", ""},
		"alerts for the owner": {`alerts: { route: { receiver: us }, receivers: [{ name: us, targets: [owner] }] }
hooks: { am: { preset: alertmanager, secrets: [0123456789abcdef], alert: {} } }`, "hook/am", "its alerts are INTERNAL and are withheld: owner is on telegram", "fix"},
		"alerts that somebody may know": {`alerts: { route: { receiver: us }, receivers: [{ name: us, escalation: [{ notify: [owner] }, { wait: 1m, notify: [ops] }] }] }
hooks: { am: { preset: alertmanager, secrets: [0123456789abcdef], alert: {} } }`, "hook/am", "owner is on telegram", "note"},
		"alerts for ops": {`alerts: { route: { receiver: us }, receivers: [{ name: us, targets: [ops] }] }
hooks: { am: { preset: alertmanager, secrets: [0123456789abcdef], alert: {} } }`, "", "", ""},
		"unlisted place":                    {`hooks: { ci: { secrets: [0123456789abcdef], deliver: { to: [new] } } }`, "hook/ci", "its texts are INTERNAL and are withheld at new until a message has come from there", "note"},
		"public text for an unlisted place": {`hooks: { ci: { secrets: [0123456789abcdef], classification: PUBLIC, deliver: { to: [new] } } }`, "", "", ""},
		"sent nowhere":                      {`hooks: { ci: { secrets: [0123456789abcdef], deliver: { to: [none] } } }`, "", "", ""},
	} {
		path := filepath.Join(t.TempDir(), "sluice.yaml")
		text := head
		if name == "owner on the page too" { // who may not look at it
			text = strings.Replace(text, `owners: [`, `owners: ["webchat:local", `, 1)
		}
		require.NoError(t, os.WriteFile(path, []byte(text+c.with+"\n"), 0o600))
		cfg, err := config.System().Load(path)
		require.NoError(t, err, name)
		found := withheld(cfg)
		if c.part == "" {
			require.Empty(t, found, name)
			continue
		}
		require.Len(t, found, 1, name)
		require.Equal(t, c.part, found[0].part, name)
		require.Contains(t, found[0].text, c.text, name)
		require.Equal(t, c.mark == "note", found[0].note, name)
	}
}
