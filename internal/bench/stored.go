package main

import (
	"context"
	"errors"
)

var errNotYet = errors.New("the store's schema is not known yet")

func measureStored(_ context.Context, _ *bench) error { return errNotYet }

func measurePostgres(ctx context.Context, b *bench) error {
	if b.postgres == "" {
		return errors.New("give -postgres or SLUICE_BENCH_POSTGRES")
	}
	return b.measureStore(ctx, "PostgreSQL", b.postgres)
}
