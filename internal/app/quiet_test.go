package app

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/store/engine"
)

func TestLogIsQuietInAnOutage(t *testing.T) {
	t.Parallel()
	for level, lines := range map[string]int{"info": 2, "debug": 3} {
		var text bytes.Buffer
		log, err := newLogger(config.Log{Level: level}, &text)
		require.NoError(t, err)
		log = slog.New(quiet{log.Handler()}).With("replica", "x").WithGroup("g")
		away := fmt.Errorf("read lane: %w", &engine.Unavailable{Reason: "PostgreSQL can't be reached"})
		log.Error("lane failed", "lane", "x", "err", away)
		log.Error("lane failed", "lane", "x", "err", errors.New("something else"))
		log.Error("the database is unavailable", "reason", "PostgreSQL can't be reached")
		require.Equal(t, lines, bytes.Count(text.Bytes(), []byte("\n")), text.String())
	}
}
