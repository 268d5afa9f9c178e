package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"sluice/store"
)

const (
	// dumpPart is how much of a table one part has at least.
	dumpPart = 8 << 20
	// contentsName is the part that says which tables follow.
	contentsName = "contents.json"
	// versionTable is written by the migrations, not by a restore.
	versionTable = "goose_db_version"
	// markTable is there from the beginning of a restore to its end, so that an interrupted one can be repeated, and no
	// gateway uses what it has left.
	markTable = "restore_in_progress"
)

// contents are the tables and counters of a dump.
type contents struct {
	Tables    []table          `json:"tables"`
	Sequences map[string]int64 `json:"sequences"` // the next value
}

type table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// Schema is the newest migration that the program has.
func Schema() int64 {
	newest := int64(store.SealMigration)
	entries, _ := fs.ReadDir(migrations, "migrations") // embedded in the program
	for _, entry := range entries {
		if version, err := goose.NumericComponent(entry.Name()); err == nil {
			newest = max(newest, version)
		}
	}
	return newest
}

// Dump reads the whole database as of one moment, while gateways use it. begin gets the schema's version before the first
// part.
func Dump(ctx context.Context, url string, begin func(schema int64) error, part func(name string, data []byte) error) (err error) {
	conn, err := dial(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return explain(fmt.Errorf("begin the copy: %w", err))
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // it has only read
	var schema int64
	if err := tx.QueryRow(ctx, `SELECT max(version_id) FROM goose_db_version WHERE is_applied`).Scan(&schema); err != nil {
		return explain(fmt.Errorf("read schema version: %w", err))
	}
	if err := begin(schema); err != nil {
		return err
	}
	all, err := contentsOf(ctx, tx)
	if err != nil {
		return err
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := part(contentsName, data); err != nil {
		return err
	}
	for _, t := range all.Tables {
		w := &parts{table: t.Name, write: part}
		sql := "COPY " + ident(t.Name) + " (" + idents(t.Columns) + ") TO STDOUT (FORMAT binary)"
		if _, err := conn.PgConn().CopyTo(ctx, w, sql); err != nil {
			return fmt.Errorf("copy table %s: %w", t.Name, err)
		}
		if err := w.flush(); err != nil {
			return err
		}
	}
	return nil
}

// parts cuts a table into parts.
type parts struct {
	table string
	write func(name string, data []byte) error
	n     int
	buf   bytes.Buffer
}

func (p *parts) Write(data []byte) (int, error) {
	p.buf.Write(data)
	if p.buf.Len() >= dumpPart {
		if err := p.flush(); err != nil {
			return 0, err
		}
	}
	return len(data), nil
}

func (p *parts) flush() error {
	p.n++
	err := p.write(fmt.Sprintf("%s/%06d", p.table, p.n), p.buf.Bytes())
	p.buf.Reset()
	return err
}

// contentsOf lists the tables with the columns that are stored, and the counters of their ids.
func contentsOf(ctx context.Context, tx pgx.Tx) (contents, error) {
	all := contents{Sequences: map[string]int64{}}
	rows, err := tx.Query(ctx, `
		SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
		  AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND c.relname <> $1
		GROUP BY c.relname ORDER BY c.relname`, versionTable)
	if err != nil {
		return all, fmt.Errorf("list tables: %w", err)
	}
	all.Tables, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t table, err error) {
		return t, row.Scan(&t.Name, &t.Columns)
	})
	if err != nil {
		return all, fmt.Errorf("list tables: %w", err)
	}
	rows, err = tx.Query(ctx, `SELECT sequencename::text, coalesce(last_value + increment_by, start_value) FROM pg_sequences
		WHERE schemaname = current_schema() AND sequencename NOT LIKE 'goose%'`)
	if err != nil {
		return all, fmt.Errorf("list counters: %w", err)
	}
	var name string
	var next int64
	_, err = pgx.ForEachRow(rows, []any{&name, &next}, func() error { all.Sequences[name] = next; return nil })
	if err != nil {
		return all, fmt.Errorf("list counters: %w", err)
	}
	return all, nil
}

// Empty reports whether the database has no tables of a gateway, or only those of an interrupted restore.
func Empty(ctx context.Context, url string) (empty bool, err error) {
	conn, err := dial(ctx, url)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	err = conn.QueryRow(ctx, `SELECT to_regclass($1) IS NULL OR to_regclass($2) IS NOT NULL`, versionTable, markTable).Scan(&empty)
	return empty, explain(err)
}

// Load fills an empty database: it makes the schema as it was, and then copies all parts in one transaction. After an
// interruption it can be repeated.
func Load(ctx context.Context, url string, schema int64, names []string, read func(name string) (io.ReadCloser, error)) (err error) {
	conn, err := dial(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if _, err := conn.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+markTable+" ()"); err != nil {
		return explain(fmt.Errorf("mark the database: %w", err))
	}
	if err := prepare(ctx, conn, schema); err != nil {
		return explain(fmt.Errorf("make the schema: %w", err))
	}
	var all contents
	if err := readJSON(read, contentsName, &all); err != nil {
		return err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return explain(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))                    //nolint:errcheck // after the commit it does nothing
	if _, err := tx.Exec(ctx, "DROP TABLE "+markTable); err != nil { // another restore waits here, and then fails
		return explain(fmt.Errorf("remove the mark of the database: %w", err))
	}
	for _, t := range all.Tables {
		if err := load(ctx, tx, t, names, read); err != nil {
			return fmt.Errorf("restore table %s: %w", t.Name, err)
		}
	}
	for name, next := range all.Sequences {
		if _, err := tx.Exec(ctx, `SELECT setval($1::regclass, $2, false)`, ident(name), next); err != nil {
			return fmt.Errorf("restore counter %s: %w", name, err)
		}
	}
	return explain(tx.Commit(ctx))
}

// prepare makes the schema of a version.
func prepare(ctx context.Context, conn *pgx.Conn, schema int64) (err error) {
	db := stdlib.OpenDB(*conn.Config())
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, _, err := newProvider(db)
	if err != nil {
		return err
	}
	if _, err := provider.UpTo(ctx, schema); err != nil {
		return err
	}
	have, err := provider.GetDBVersion(ctx)
	if err == nil && have != schema {
		return fmt.Errorf("an interrupted restore of a newer backup has left schema %d in the database, and this backup has schema %d: create a new database and name it in store.url", have, schema)
	}
	return err
}

// load fills one table. The rules that the tables enforce against changes do not hold for this copy.
func load(ctx context.Context, tx pgx.Tx, t table, names []string, read func(string) (io.ReadCloser, error)) (err error) {
	name := ident(t.Name)
	if _, err := tx.Exec(ctx, "ALTER TABLE "+name+" DISABLE TRIGGER USER"); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "DELETE FROM "+name); err != nil { // what the migrations have written
		return err
	}
	p := &joined{read: read}
	for _, n := range names {
		if path.Dir(n) == t.Name {
			p.names = append(p.names, n)
		}
	}
	if len(p.names) > 0 {
		_, err = tx.Conn().PgConn().CopyFrom(ctx, p, "COPY "+name+" ("+idents(t.Columns)+") FROM STDIN (FORMAT binary)")
	}
	if err := errors.Join(err, p.close()); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "ALTER TABLE "+name+" ENABLE TRIGGER USER")
	return err
}

// joined reads parts one after the other.
type joined struct {
	names []string
	read  func(string) (io.ReadCloser, error)
	now   io.ReadCloser
}

func (j *joined) Read(p []byte) (int, error) {
	for {
		if j.now == nil {
			if len(j.names) == 0 {
				return 0, io.EOF
			}
			next, err := j.read(j.names[0])
			if err != nil {
				return 0, err
			}
			j.now, j.names = next, j.names[1:]
		}
		n, err := j.now.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		if err := j.close(); err != nil {
			return 0, err
		}
	}
}

func (j *joined) close() error {
	if j.now == nil {
		return nil
	}
	err := j.now.Close()
	j.now = nil
	return err
}

func readJSON(read func(string) (io.ReadCloser, error), name string, v any) error {
	f, err := read(name)
	if err != nil {
		return err
	}
	return errors.Join(json.NewDecoder(f).Decode(v), f.Close())
}

// dial opens one connection of its own.
func dial(ctx context.Context, url string) (*pgx.Conn, error) {
	if err := readable(url); err != nil {
		return nil, err
	}
	parsed, err := pgxpool.ParseConfig(url) // a URL may have settings of the pool
	if err != nil {
		return nil, fmt.Errorf("read database URL: %w", err)
	}
	config := parsed.ConnConfig
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, explain(fmt.Errorf("connect: %w", err))
	}
	return conn, nil
}

func ident(name string) string { return pgx.Identifier{name}.Sanitize() }

func idents(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = ident(n)
	}
	return strings.Join(quoted, ", ")
}
