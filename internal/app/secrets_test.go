package app

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
)

// Keys, tokens and passwords of the configuration stay out of the log, whatever writes them there.
func TestSecretsStayOutOfTheLog(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
store: { url: "postgres://sluice:pass-word-1@db.example/sluice" }
models: { providers: { openai: { kind: openai, apiKey: key-of-the-model, baseURL: "http://127.0.0.1:1/v1" } } }
secrets: { crm: { value: "c\"rm-secret", tools: [mcp_crm_*] } }
`), 0o600))
	cfg, err := config.System().Load(file)
	require.NoError(t, err)
	known, err := newSecrets(cfg, "token-of-the-api")
	require.NoError(t, err)
	var secrets liveSecrets
	secrets.Store(known)
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		log, err := newLogger(config.Log{Level: "info", Format: format}, cleanWriter{&out, &secrets})
		require.NoError(t, err)
		log.Info("begun", "url", "postgres://sluice:pass-word-1@db.example/sluice", slog.Group("a", "key", "key-of-the-model"), "token", "token-of-the-api", "crm", `c"rm-secret`)
		require.Contains(t, out.String(), "db.example", "what is no secret stays")
		require.Contains(t, out.String(), "[secret:crm]")
		for _, secret := range []string{"pass-word-1", "key-of-the-model", "token-of-the-api", "rm-secret"} {
			require.NotContains(t, out.String(), secret)
		}
	}
}
