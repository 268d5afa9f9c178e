package postgres_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/store/postgres"
	"sluice/store/storetest"
)

// A restore that was interrupted can be repeated, and until then no gateway uses what it has left.
func TestAnInterruptedLoadCanBeRepeated(t *testing.T) {
	t.Parallel()
	from, to := storetest.Postgres(t), storetest.Postgres(t)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: from})
	require.NoError(t, err)
	require.NoError(t, db.FixPartitions(t.Context(), 7))
	require.NoError(t, db.Close())
	var schema int64
	var names []string
	parts := map[string][]byte{}
	require.NoError(t, postgres.Dump(t.Context(), from,
		func(s int64) error { schema = s; return nil },
		func(name string, data []byte) error {
			names = append(names, name)
			parts[name] = bytes.Clone(data)
			return nil
		}))
	slices.Sort(names)

	broken := errors.New("the disk does not answer")
	reads := 0
	err = postgres.Load(t.Context(), to, schema, names, func(name string) (io.ReadCloser, error) {
		if reads++; reads > 3 {
			return nil, broken
		}
		return io.NopCloser(bytes.NewReader(parts[name])), nil
	})
	require.ErrorContains(t, err, broken.Error())
	_, err = postgres.Open(t.Context(), postgres.Config{URL: to})
	require.ErrorContains(t, err, "was interrupted")
	empty, err := postgres.Empty(t.Context(), to)
	require.NoError(t, err)
	require.True(t, empty)

	require.ErrorContains(t, postgres.Load(t.Context(), to, schema-1, names, nil), "create a new database")
	require.NoError(t, postgres.Load(t.Context(), to, schema, names, func(name string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(parts[name])), nil
	}))
	empty, err = postgres.Empty(t.Context(), to)
	require.NoError(t, err)
	require.False(t, empty)
	db, err = postgres.Open(t.Context(), postgres.Config{URL: to})
	require.NoError(t, err)
	require.Error(t, db.FixPartitions(t.Context(), 8), "the number of partitions was restored")
	require.NoError(t, db.Close())
}
