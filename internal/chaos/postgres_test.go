package chaos_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/chaos/child"
)

// postgresURL is an empty database of a cluster of the test's own; the test is
// skipped where PostgreSQL is not installed, but not in CI.
func postgresURL(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sluice-chaos-pg-") //nolint:usetesting // t.TempDir is too long a path for a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cluster, err := child.StartPostgres(ctx, filepath.Join(dir, "pg"))
	if errors.Is(err, child.ErrNoPostgres) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Stop()) })
	url, err := cluster.Create(ctx, "chaos")
	require.NoError(t, err)
	return url
}

func TestKillOnPostgres(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{store: postgresURL(t), seedPlus: 30})
	newCampaign().run(w)
	w.settle()
	w.judge()
}
