package sqlite

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite/sqlitex"
)

//go:generate go test -run TestSchemaIsWhatTheMigrationsMake -update .

// schema creates in an empty database what all migrations would create, in one transaction: dozens of migrations one by one would
// take most of the time of a first start.
//
//go:embed schema.sql
var schema string

// create makes the database, unless its file has something in it. SQLite would sync each step of a new file; create writes
// another file, syncs it once, and renames it. A file that a crash has left is made again. The first commit syncs the
// folder, and the new name with it.
func create(path string) (created bool, err error) {
	f, err := os.OpenFile(filepath.Clean(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false, err
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil || info.Size() > 0 {
		return false, err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil { // the place that a link leads to
		return false, err
	}
	unfinished := path + "-new"
	for _, old := range []string{unfinished, unfinished + "-wal", unfinished + "-shm", path + "-wal", path + "-shm", path + "-journal"} {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("remove what belongs to no database: %w", err)
		}
	}
	if err := fill(unfinished); err != nil {
		return false, fmt.Errorf("create the tables: %w", err)
	}
	return true, os.Rename(unfinished, path)
}

// fill writes the schema to an empty file and syncs it.
func fill(path string) error {
	f, err := os.OpenFile(filepath.Clean(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	s, err := newStatements(path, nil, "synchronous=OFF", "journal_mode=MEMORY")
	if err == nil {
		if err = sqlitex.ExecuteScript(s.conn, schema, nil); err == nil {
			_, err = s.exec("PRAGMA journal_mode=WAL", nil)
		}
		err = errors.Join(err, s.close())
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
