package engine

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
)

// Migrate applies the migrations that a database lacks. Before it begins it says what it will do, and then how long each
// step and all together took: a step over a large table may take minutes.
func Migrate(ctx context.Context, provider *goose.Provider, log *slog.Logger) (applied int, err error) {
	all, err := provider.Status(ctx)
	if err != nil {
		return 0, fmt.Errorf("read which migrations the database has: %w", err)
	}
	var pending []string
	for _, m := range all {
		if m.State == goose.StatePending {
			pending = append(pending, nameOf(m.Source))
		}
	}
	fresh := len(pending) == len(all)
	if !fresh && len(pending) > 0 {
		log.Info("database schema is changed; the gateway starts afterwards", "migrations", pending)
	}
	begin := time.Now()
	results, err := provider.Up(ctx)
	if err != nil {
		return 0, fmt.Errorf("migrate database: %w", err)
	}
	for _, r := range results {
		if r.Duration > slowStep {
			log.Info("migration applied", "migration", nameOf(r.Source), "took", r.Duration.Round(time.Millisecond))
		}
	}
	if !fresh && len(results) > 0 {
		log.Info("database schema migrated", "migrations", len(results), "took", time.Since(begin).Round(time.Millisecond))
	}
	return len(results), nil
}

// slowStep is how long a migration takes that is named alone.
const slowStep = time.Second

func nameOf(s *goose.Source) string {
	if s.Path == "" {
		return fmt.Sprintf("%05d (in Go)", s.Version)
	}
	return filepath.Base(s.Path)
}
