package logs_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/logs"
)

func newLog() (*logs.Keeper, *slog.Logger) {
	k := logs.New(time.Unix(1, 0), func(text string) string { return strings.ReplaceAll(text, "hunter2", "[secret]") })
	return k, slog.New(k.Handler(slog.NewTextHandler(nothing{}, &slog.HandlerOptions{Level: slog.LevelInfo})))
}

type nothing struct{}

func (nothing) Write(p []byte) (int, error) { return len(p), nil }

func texts(k *logs.Keeper, q logs.Query) (all []string) {
	if q.Limit == 0 {
		q.Limit = 10
	}
	lines, _ := k.Lines(q)
	for _, l := range lines {
		all = append(all, l.Text)
	}
	return all
}

func TestLinesAreKept(t *testing.T) {
	t.Parallel()
	k, log := newLog()
	log.Debug("not logged, not kept")
	log.With("channel", "telegram", "account", "default").Warn("cannot send", "err", errors.New("password hunter2 is wrong"))
	log.WithGroup("g").With("mcp_server", "crm").Info("started", slog.Group("size", "w", 3))
	log.With("mcp_server", "crm").Error("it is GONE")
	require.Equal(t, []string{"it is GONE", "started", "cannot send"}, texts(k, logs.Query{Level: slog.LevelDebug}))
	require.Equal(t, []string{"it is GONE", "cannot send"}, texts(k, logs.Query{Level: slog.LevelWarn}))
	require.Equal(t, []string{"cannot send"}, texts(k, logs.Query{Part: "telegram/default"}))
	require.Equal(t, []string{"it is GONE"}, texts(k, logs.Query{Part: "mcp/crm"}))
	require.Equal(t, []string{"it is GONE"}, texts(k, logs.Query{Words: "is gone"}))
	require.Equal(t, []string{"cannot send"}, texts(k, logs.Query{Words: "PASSWORD"}))
	lines, _ := k.Lines(logs.Query{Words: "password", Limit: 1})
	require.Equal(t, []logs.Field{{"channel", "telegram"}, {"account", "default"}, {"err", "password [secret] is wrong"}}, lines[0].Fields)
	lines, _ = k.Lines(logs.Query{Words: "started", Limit: 1})
	require.Equal(t, []logs.Field{{"g.mcp_server", "crm"}, {"g.size.w", "3"}}, lines[0].Fields)
}

// Pages follow each other, however many lines come in between, and the oldest lines are dropped.
func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	k, log := newLog()
	for i := range 2500 {
		log.Info("line", "n", i, "long", strings.Repeat("é", 5000))
	}
	first, more := k.Lines(logs.Query{Limit: 2})
	require.True(t, more)
	require.Equal(t, "2499", first[0].Fields[0].Value)
	require.Len(t, first[0].Fields[1].Value, 1000+len("…"))
	log.Info("one more")
	next, _ := k.Lines(logs.Query{After: first[1].ID, Limit: 2})
	require.Equal(t, "2497", next[0].Fields[0].Value)
	require.Equal(t, "2496", next[1].Fields[0].Value)
	all, more := k.Lines(logs.Query{Limit: 3000})
	require.False(t, more)
	require.Len(t, all, 2000)
	require.Equal(t, "501", all[1999].Fields[0].Value)
	require.Empty(t, texts(k, logs.Query{After: "other-7"}), "another start's")
	many := make([]any, 0, 100)
	for i := range 50 {
		many = append(many, fmt.Sprint("k", i), i)
	}
	log.Info("many", many...)
	all, _ = k.Lines(logs.Query{Limit: 1})
	require.Len(t, all[0].Fields, 20)
}

func TestManyLogAtOnce(t *testing.T) {
	t.Parallel()
	k, log := newLog()
	log = log.With("a", "hunter2")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				log.Info("x", "b", 1)
				k.Lines(logs.Query{Limit: 5})
			}
		})
	}
	wg.Wait()
	all, _ := k.Lines(logs.Query{Limit: 1000})
	require.Len(t, all, 800)
	require.Equal(t, "[secret]", all[0].Fields[0].Value)
}
