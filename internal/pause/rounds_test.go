package pause_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/pause"
)

func TestRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var at []time.Duration
		var log bytes.Buffer
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			pause.Rounds(ctx, time.Minute, time.Hour, slog.New(slog.NewTextHandler(&log, nil)), func(context.Context) {
				if at = append(at, time.Since(began)); len(at) == 2 {
					panic("it broke")
				}
			})
		}()
		time.Sleep(3 * time.Hour)
		cancel()
		<-ended
		require.Equal(t, []time.Duration{time.Minute, 61 * time.Minute, 121 * time.Minute}, at)
		require.Contains(t, log.String(), "it broke")
		require.Contains(t, log.String(), "rounds_test.go", "where it broke")
	})
}

func TestRoundsThatNeverBegin(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	pause.Rounds(ctx, time.Hour, time.Hour, slog.New(slog.DiscardHandler), func(context.Context) { t.Error("a round") })
}
