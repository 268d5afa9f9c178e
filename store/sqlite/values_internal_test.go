package sqlite

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/store/engine"
)

// Values are read as they were written, also those of named types. NULL, or a text for a number, is an error and never 0.
func TestValuesOfStatements(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), FileName)
	_, err := prepare(t.Context(), path, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	s, err := newStatements(path, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.close()) }()
	type name string
	type number int
	read := func(sql string, args []any, dest ...any) error {
		return s.query(sql, args, func(row engine.Row) error { return row.Scan(dest...) })
	}
	var (
		text string
		n    int
		long int64
		yes  bool
		raw  []byte
	)
	require.NoError(t, read(`SELECT ?, ?, ?, ?, ?`, []any{name("a\x00b"), number(3), int64(1) << 60, true, []byte{0, 1}}, &text, &n, &long, &yes, &raw))
	require.Equal(t, []any{"a\x00b", 3, int64(1) << 60, true, []byte{0, 1}}, []any{text, n, long, yes, raw})
	require.NoError(t, read(`SELECT ?, ?, ?`, []any{"", []byte(nil), "7"}, &text, &raw, &n))
	require.Equal(t, []any{"", []byte(nil), 7}, []any{text, raw, n})

	require.ErrorContains(t, read(`SELECT NULL`, nil, &text), "no value")
	require.ErrorContains(t, read(`SELECT 'seven'`, nil, &n), "invalid syntax")
	require.ErrorContains(t, read(`SELECT 1, 2`, nil, &n), "2 columns")
	require.ErrorContains(t, read(`SELECT ?`, nil, &n), "1 parameters")
	require.ErrorContains(t, read(`SELECT ?`, []any{struct{}{}}, &n), "can't be stored")
	require.ErrorContains(t, read(`SELECT 1`, nil, &struct{}{}), "can't be read")
	require.NoError(t, read(`SELECT ?`, []any{4}, &n), "a failed read leaves the statement usable")
}
