package sqlite

import (
	"database/sql"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write schema.sql as the migrations make it")

// The tables of a first start are those that the migrations make, with the same rows.
func TestSchemaIsWhatTheMigrationsMake(t *testing.T) {
	t.Parallel()
	migrated := filepath.Join(t.TempDir(), FileName)
	_, err := prepare(t.Context(), migrated, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	want := script(t, migrated)
	if *update {
		require.NoError(t, os.WriteFile("schema.sql", []byte(want), 0o600))
		return
	}
	const stale = "schema.sql is not what the migrations make: go generate ./store/sqlite"
	require.Equal(t, want, schema, stale)
	dir := t.TempDir()
	e, err := openEngine(t.Context(), Config{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, e.Close())
	require.Equal(t, want, script(t, filepath.Join(dir, FileName)), stale)
}

// script returns the statements that make a database's schema, and its rows.
func script(t *testing.T, path string) string {
	t.Helper()
	b := &strings.Builder{}
	b.WriteString("-- Code generated from the migrations by \"go generate ./store/sqlite\". DO NOT EDIT.\n\n")
	require.NoError(t, using(path, "mode=ro", func(db *sql.DB) error {
		// What belongs to a full-text table is made with it.
		statements := texts(t, db, `SELECT sql FROM sqlite_schema o WHERE sql <> '' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
			AND NOT EXISTS (SELECT 1 FROM sqlite_schema v WHERE v.sql LIKE 'CREATE VIRTUAL TABLE%' AND o.name LIKE v.name || '\_%' ESCAPE '\' AND o.type = 'table' AND o.sql NOT LIKE 'CREATE VIRTUAL%')
			ORDER BY rowid`)
		for _, statement := range statements {
			b.WriteString(statement + ";\n")
		}
		b.WriteString("\n-- The first makes the table of statistics, the second reads it.\nANALYZE sqlite_schema;\n")
		for _, table := range []string{"goose_db_version", "schema_compatible", "sqlite_stat1", "audit_heads"} {
			b.WriteString(rows(t, db, table))
		}
		b.WriteString("ANALYZE sqlite_schema;\n")
		return nil
	}))
	return b.String()
}

// rows returns the statements that insert a table's rows.
func rows(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	b := &strings.Builder{}
	columns := texts(t, db, `SELECT name FROM pragma_table_info('`+table+`') WHERE name NOT IN ('id', 'tstamp')`)
	quoted := make([]string, len(columns))
	for i, column := range columns {
		quoted[i] = "quote(" + column + ")"
	}
	for _, values := range texts(t, db, `SELECT `+strings.Join(quoted, " || ', ' || ")+` FROM `+table+` ORDER BY rowid`) {
		fmt.Fprintf(b, "INSERT INTO %s (%s) VALUES (%s);\n", table, strings.Join(columns, ", "), values)
	}
	return b.String()
}

func texts(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer func() { require.NoError(t, found.Close()) }()
	for found.Next() {
		var text string
		require.NoError(t, found.Scan(&text))
		all = append(all, text)
	}
	require.NoError(t, found.Err())
	return all
}
