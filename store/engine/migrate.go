package engine

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
)

// Migrated is what opening a database did to its schema.
type Migrated struct {
	Created bool          // the database was empty
	Applied []string      // the migrations that the database lacked; empty if it was created
	Took    time.Duration // of the migrations
}

// Migrate applies the migrations that a database lacks. Before it begins it says what it will do, and then how long each
// step and all together took: a step over a large table may take minutes.
func Migrate(ctx context.Context, provider *goose.Provider, log *slog.Logger) (Migrated, error) {
	all, err := provider.Status(ctx)
	if err != nil {
		return Migrated{}, fmt.Errorf("read which migrations the database has: %w", err)
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
		return Migrated{}, fmt.Errorf("migrate database: %w", err)
	}
	for _, r := range results {
		if r.Duration > slowStep {
			log.Info("migration applied", "migration", nameOf(r.Source), "took", r.Duration.Round(time.Millisecond))
		}
	}
	done := Migrated{Created: fresh, Took: time.Since(begin)}
	if !fresh && len(results) > 0 {
		done.Applied = pending
		log.Info("database schema migrated", "migrations", len(results), "took", done.Took.Round(time.Millisecond))
	}
	return done, nil
}

// Schema describes the migrations of a database, or those that a program knows.
type Schema struct {
	Newest int64 // migration
	Count  int64 // of migrations
}

// Applied reads a database's [Schema] with a query, because drivers differ.
const Applied = `SELECT coalesce(max(version_id), 0), count(DISTINCT version_id) FROM goose_db_version WHERE is_applied AND version_id > 0`

// CompatibleSince reads the migration that a program must know at least to use a database with newer migrations. Databases of
// older versions do not have this table.
const CompatibleSince = `SELECT since FROM schema_compatible`

// Fits says whether a program may use a database with a newer schema than its own.
func Fits(have, known Schema, since int64, log *slog.Logger) error {
	if since > known.Newest {
		return NewerSchema(have.Newest, known.Newest)
	}
	log.Warn("a newer version of sluice has migrated the database; this one can use it",
		"schema", have.Newest, "known", known.Newest)
	return nil
}

// slowStep is how long a migration takes that is named alone.
const slowStep = time.Second

func nameOf(s *goose.Source) string {
	if s.Path == "" {
		return fmt.Sprintf("%05d (in Go)", s.Version)
	}
	return filepath.Base(s.Path)
}
