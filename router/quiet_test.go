package router_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/sessions"
)

// logged keeps what a router writes into its log.
type logged struct {
	mu   sync.Mutex
	said map[string]slog.Level
}

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }
func (l *logged) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logged) WithGroup(string) slog.Handler            { return l }

func (l *logged) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said == nil {
		l.said = map[string]slog.Level{}
	}
	l.said[r.Message] = r.Level
	return nil
}

// of are the messages that were written, each once.
func (l *logged) of() map[string]slog.Level {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := map[string]slog.Level{}
	for message, level := range l.said {
		said[message] = level
	}
	return said
}

// Where nothing fails the log says nothing, and where something fails that nobody waits for, the log says what.
func TestWhatTheLogSays(t *testing.T) {
	t.Parallel()
	day := func(b *bundle) {
		ch := b.settings.Channels["test"]
		ch.AckReaction, ch.AckRemove = "👀", true
		b.settings.Channels["test"] = ch
		b.agent.answer = slowly("the beginning of a long answer, and its end")
		b.persist(in("ann", "1", "one"))
		b.calm()
		b.persist(inGroup("g", "ann", "2", "two", true))
		b.calm()
		record, err := b.store.Session(context.Background(), b.persist(in("bob", "1", "three")).Session)
		require.NoError(b.t, err)
		b.calm()
		record.ID, record.Revision, record.Persistent = sessions.NewID(), 0, false
		record.Key = sessions.Key("agent:main:http:" + string(record.ID))
		require.NoError(b.t, b.store.CommitSession(context.Background(), sessions.Change{Create: []sessions.Record{record}}))
		b.persist(in("bob", "2", "/stop"))
		time.Sleep(30 * time.Hour)
		synctest.Wait()
		require.Len(b.t, b.deliveries(ledger.DeliverySent), 4)
	}
	synctest.Test(t, func(t *testing.T) {
		l := &logged{}
		r, option := withReactions("👀", true)
		b := newBundle(t, option, func(b *bundle) {
			b.log, b.adapter = slog.New(l), everything{r, editable{b.chat}}
		})
		day(b)
		for p := range partitions {
			b.Owner().Release(t.Context(), p)
			acquire(t, b.Owner(), p)
		}
		require.Empty(t, l.of())
	})
	synctest.Test(t, func(t *testing.T) {
		l := &logged{}
		b := newBundle(t, withFailing, func(b *bundle) {
			b.settings.MaxRunAttempt, b.settings.RunTimeout = 100, 24*time.Hour
			b.log, b.adapter = slog.New(l), tired{editable{b.chat}}
		})
		b.failing.everyPlace()
		day(b)
		said := l.of()
		for message, level := range map[string]slog.Level{
			"lane failed": slog.LevelError, "expired sessions not read": slog.LevelError, "expired session not ended": slog.LevelError,
			"expired memories not ended": slog.LevelError, "old rows not removed": slog.LevelError, "partition not rescanned": slog.LevelError,
			"typing not shown": slog.LevelDebug, "buttons of decided questions not removed; trying again later": slog.LevelError,
		} {
			got, ok := said[message]
			require.True(t, ok, "%q is not among %v", message, said)
			require.Equal(t, level, got, message)
		}
	})
}

// everything is a chat that can edit, show typing and put reactions on.
type everything struct {
	*reacting
	editor editable
}

func (e everything) Edit(ctx context.Context, id sessions.PlatformMessageID, out adapters.Outbound) error {
	return e.editor.Edit(ctx, id, out)
}

func (e everything) PreviewEvery() time.Duration { return e.editor.PreviewEvery() }

func (e everything) Typing(ctx context.Context, r sessions.Route) error {
	return e.editor.Typing(ctx, r)
}

// tired is a chat that shows no typing.
type tired struct{ editable }

func (tired) Typing(context.Context, sessions.Route) error { return errReset }
