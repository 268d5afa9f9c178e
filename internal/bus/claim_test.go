package bus_test

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// Gateways that share NATS, but not the database, would each leave work undone: the second one says so and does nothing, until
// the first one is gone.
func TestGatewaysOfAnotherDatabaseDoNotTakePartitions(t *testing.T) {
	t.Parallel()
	url := newCluster(t).url()
	one, other := newOwner("one", &board{owners: map[int]map[string]bool{}}), newOwner("other", &board{owners: map[int]map[string]bool{}})
	first := startOn(t, url, "one", "the database", prometheus.NewRegistry())
	require.NoError(t, first.Own(t.Context(), one))
	until(t, func() bool { return one.count() == partitions }, one)

	idle, works := newSaid("does no work"), newSaid("this one works")
	second := startOn(t, url, "other", "another database", prometheus.NewRegistry(), idle, works)
	require.NoError(t, second.Own(t.Context(), other))
	receiveEnd(t, idle.now)
	require.ErrorContains(t, second.Ready(), "another database")
	require.NoError(t, first.Ready())

	third := startOn(t, url, "three", "the database", prometheus.NewRegistry())
	three := newOwner("three", one.board)
	require.NoError(t, third.Own(t.Context(), three))
	until(t, func() bool { return three.count() > 0 && one.count()+three.count() == partitions }, one, three)
	require.Zero(t, other.count())
	require.Empty(t, one.board.double)

	first.Stop(context.Background())
	until(t, func() bool { return three.count() == partitions }, three)
	third.Stop(context.Background())
	receiveEnd(t, works.now)
	until(t, func() bool { return other.count() == partitions }, other)
	require.NoError(t, second.Ready())
}
