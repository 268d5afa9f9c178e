package postgres_test

import (
	"testing"

	"sluice/store/storetest"
)

func BenchmarkMessage(b *testing.B) {
	storetest.BenchmarkMessage(b, open(b, storetest.NewServer(b).Database(b)))
}
