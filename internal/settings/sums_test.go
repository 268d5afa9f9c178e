package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/internal/config/hooks"
	"sluice/internal/settings"
)

// A checksum tells whether a section differs, not whether a secret has another value.
func TestSums(t *testing.T) {
	t.Parallel()
	sums := func(change func(c *config.Config)) map[string]string {
		c := &config.Config{}
		c.Gateway.Token, c.Gateway.Listen = "the-token-of-the-owner", "127.0.0.1:1"
		change(c)
		return settings.Sums(c, func(path string) bool { return path == "gateway.listen" })
	}
	same := sums(func(*config.Config) {})
	require.Contains(t, same, "hooks", "also a section without keys")
	require.Equal(t, same, sums(func(c *config.Config) { c.Gateway.Token = "another-token-of-the-owner" }))
	require.Equal(t, same, sums(func(c *config.Config) { c.Gateway.Listen = "127.0.0.1:2" }), "skipped")
	for section, change := range map[string]func(c *config.Config){
		"gateway": func(c *config.Config) { c.Gateway.Token = "" },
		"owners":  func(c *config.Config) { c.Owners = []string{"telegram:1"} },
		"hooks":   func(c *config.Config) { c.Hooks = hooks.Hooks{"first": {}} },
	} {
		got := sums(change)
		require.NotEqual(t, same[section], got[section], section)
		delete(got, section)
		for other, sum := range got {
			require.Equal(t, same[other], sum, "%s changes %s", section, other)
		}
	}
}
