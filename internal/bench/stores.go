package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

func measureSQLite(ctx context.Context, b *bench) error {
	return b.measureStore(ctx, "SQLite", func(context.Context) (string, error) { return "", nil })
}

// measurePostgres measures a cluster on the same disk, with PostgreSQL's default durability.
func measurePostgres(ctx context.Context, b *bench) (err error) {
	cluster, err := startPostgres(ctx, filepath.Join(b.dir, "pg"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.stop()) }()
	created := 0
	return b.measureStore(ctx, "PostgreSQL", func(ctx context.Context) (string, error) {
		created++
		return cluster.create(ctx, fmt.Sprintf("bench%d", created))
	})
}
