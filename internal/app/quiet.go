package app

import (
	"context"
	"errors"
	"log/slog"

	"sluice/sessions"
)

// quiet is a log that lowers lines whose only message is that the database is unavailable to level debug: the store
// reports the outage once, and every lane, poll and sweep would repeat it with each try.
type quiet struct{ slog.Handler }

// Handle implements [slog.Handler].
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	if r.Level > slog.LevelDebug && isOutage(r) {
		r.Level = slog.LevelDebug
		if !q.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return q.Handler.Handle(ctx, r)
}

// isOutage reports whether a line's error says that the database is unavailable.
func isOutage(r slog.Record) bool {
	found := false
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		found = ok && errors.Is(err, sessions.ErrUnavailable)
		return !found
	})
	return found
}

// WithAttrs implements [slog.Handler].
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup implements [slog.Handler].
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
