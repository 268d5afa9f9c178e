package router

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/approvals"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/router/work"
	"sluice/sessions"
)

// wholeConfig has all that a router needs.
func wholeConfig() Config {
	return Config{
		Store: &ledger.Store{}, Bus: struct{ Bus }{}, Models: struct{ Models }{}, Gate: struct{ outbound.Gate }{}, Monitor: struct{ Monitor }{},
		Adapters: func(string, string) (adapters.Adapter, bool) { return nil, false }, Settings: &place.Settings{}, Partitions: 1,
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	}
}

func TestNewWantsAllItIsMadeOf(t *testing.T) {
	t.Parallel()
	whole := wholeConfig()
	r, err := New(whole)
	require.NoError(t, err)
	require.Equal(t, 4*time.Second, r.grace)
	for name, without := range map[string]func(*Config){
		"store": func(c *Config) { c.Store = nil }, "bus": func(c *Config) { c.Bus = nil }, "models": func(c *Config) { c.Models = nil },
		"gate": func(c *Config) { c.Gate = nil }, "monitor": func(c *Config) { c.Monitor = nil }, "adapters": func(c *Config) { c.Adapters = nil },
		"settings": func(c *Config) { c.Settings = nil }, "now": func(c *Config) { c.Now = nil }, "log": func(c *Config) { c.Log = nil },
		"registerer": func(c *Config) { c.Registerer = nil },
	} {
		c := whole
		without(&c)
		_, err := New(c)
		require.ErrorContains(t, err, "a required field is not set", name)
	}
	whole.Partitions = 0
	_, err = New(whole)
	require.ErrorContains(t, err, "at least one partition")
}

// New settings count at once.
func TestConfigure(t *testing.T) {
	t.Parallel()
	r, err := New(wholeConfig())
	require.NoError(t, err)
	r.SetAgent(struct{ work.Agent }{})
	settings := &place.Settings{Agent: "main", Keyer: sessions.Keyer{Scope: sessions.ScopeMain}}
	r.Configure(settings)
	require.Same(t, settings, r.settings.Load())
	require.Equal(t, place.SharedMain(settings.Keyer), (&approvals.Pairings{Composer: &outbound.Composer{Settings: r.settings.Load}}).SharedMain())
}
