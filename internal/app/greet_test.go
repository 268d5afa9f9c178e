package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What services and containers collect has the page's address and the way to the token, and never the token.
func TestTheTokenIsPrintedForAPersonOnly(t *testing.T) {
	t.Parallel()
	const own = "a-token-of-the-configuration"
	for name, c := range map[string]struct {
		token   string
		private bool
		want    string
	}{
		"made, collected":       {"", false, "it is in the file "},
		"configured, collected": {own, false, "it is gateway.token in the configuration"},
		"made, for a person":    {"", true, "/#token="},
		"configured, a person":  {own, true, "/#token=" + own},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := filepath.Join(t.TempDir(), "state")
			path := filepath.Join(t.TempDir(), "sluice.yaml")
			require.NoError(t, os.WriteFile(path, []byte("gateway: { listen: 127.0.0.1:0, token: \""+c.token+"\" }\nstate: "+state+"\n"), 0o600))
			out, logged, stop := running(t, path, c.private)
			out.await(t, c.want)
			token := c.token
			if token == "" {
				kept, err := os.ReadFile(filepath.Join(state, "token"))
				require.NoError(t, err)
				token = strings.TrimSpace(string(kept))
			}
			stop()
			require.Equal(t, c.private, strings.Contains(out.text.String(), token), out.text.String())
			require.NotContains(t, logged.text.String(), token)
		})
	}
}
