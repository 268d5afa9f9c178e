package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"sluice/store"
	"sluice/store/postgres"
	"sluice/store/storetest"
)

func BenchmarkMessage(b *testing.B) {
	storetest.BenchmarkMessage(b, open(b, storetest.NewServer(b).Database(b)))
}

func BenchmarkTold(b *testing.B) {
	for _, gateways := range []int{1, 3} {
		b.Run(fmt.Sprintf("gateways=%d", gateways), func(b *testing.B) {
			url := storetest.NewServer(b).Database(b)
			var dbs []*store.DB
			for range gateways {
				dbs = append(dbs, open(b, url))
			}
			storetest.BenchmarkAudited(b, dbs...)
		})
	}
}

func BenchmarkCall(b *testing.B) {
	storetest.BenchmarkCall(b, func(ctx context.Context) (*store.DB, error) {
		return postgres.Open(ctx, postgres.Config{URL: storetest.NewServer(b).Database(b), Log: slog.New(slog.DiscardHandler)})
	})
}
