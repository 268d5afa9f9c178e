package fallback_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/internal/alert"
	"sluice/internal/model/cooldown"
	"sluice/internal/model/fallback"
	"sluice/sessions"
)

// The owner is told once of each change, and not at each request.
func TestTheOwnerIsToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, alerts := t.Context(), false
		var said []string
		f := fallback.New(fallback.Config{
			Alerts: func() bool { return alerts }, Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
			Tell: func(_ context.Context, text, _ string) error { said = append(said, text); return nil },
		})
		place := cooldown.Place{Provider: "p", Key: "key1", Model: "m"}
		fails := func(kind sessions.ModelErrorKind) {
			f.Board.Failed(ctx, place, "mark", &sessions.ModelError{Kind: kind})
			f.Board.Failed(ctx, place, "mark", &sessions.ModelError{Kind: kind})
			time.Sleep(5 * time.Minute)
		}
		fails(sessions.ModelOverloaded)
		require.Empty(t, said, "it may be over at once")
		require.Empty(t, f.Troubles())
		fails(sessions.ModelOverloaded)
		fails(sessions.ModelOverloaded)
		require.Equal(t, []string{"p/m (key1) does not work: overloaded. The gateway tries it again automatically; until then, the next models of a chain answer."}, said)
		require.Equal(t, alert.Warning, f.Troubles()[0].Severity)
		f.Board.Worked(ctx, place)
		require.Equal(t, "p/m (key1) works again.", said[1])
		require.Empty(t, f.Troubles())

		fails(sessions.ModelAuth)
		require.Equal(t, "p (key1) does not work: the provider does not accept the key. It is not used until you have fixed this and run `sluice models clear p`, or `/model clear p`.", said[2])
		require.Equal(t, alert.Error, f.Troubles()[0].Severity)
		cleared, err := f.Clear(ctx, "p")
		require.NoError(t, err)
		require.Equal(t, []string{"p (key1)"}, cleared)
		require.Len(t, said, 4)

		alerts = true
		fails(sessions.ModelAuth)
		require.Len(t, said, 4, "alerts tell it")
		f.Stop()
	})
}
