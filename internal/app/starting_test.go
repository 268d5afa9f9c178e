package app

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/internal/httpapi/operator"
)

// The server answers before partitions and channels are taken; until then the gateway is not ready.
func TestNotReadyWhileItStarts(t *testing.T) {
	t.Parallel()
	cfg, err := config.System().Load("")
	require.NoError(t, err)
	cfg.State, cfg.Gateway.Token = t.TempDir(), "token"
	a := New(cfg, "test", slog.New(slog.DiscardHandler))
	a.setToken(cfg, "token")
	require.NoError(t, a.openStoreAndBus(t.Context()))
	defer a.Stop(t.Context())
	require.NoError(t, a.wire())
	require.Contains(t, a.components(t.Context()), operator.Health{Name: "gateway", Detail: errStarting.Error()})
	a.up.Store(true)
	for _, p := range a.components(t.Context()) {
		require.NotEqual(t, "gateway", p.Name)
	}
}
