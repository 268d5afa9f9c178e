package backup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"

	"sluice/store/postgres"
	"sluice/store/sqlite"
)

// Source is a gateway that is copied.
type Source struct {
	Version string
	State   string // state folder
	Store   string // URL of PostgreSQL; empty: SQLite in the state folder
	Config  string // the configuration file; may be empty
	NoFiles bool   // leave out the files of conversations
	Now     time.Time
}

// Create writes an archive. Without recipients it is not encrypted.
func Create(ctx context.Context, s Source, out io.Writer, to []age.Recipient) (_ Manifest, err error) {
	work, done, err := workspace(s.State)
	if err != nil {
		return Manifest{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	w, err := newWriter(out, to, s.Now.UTC().Truncate(time.Second))
	if err != nil {
		return Manifest{}, err
	}
	m := Manifest{Format: format, Version: s.Version, Created: w.at, Store: StoreSQLite}
	if s.Store != "" {
		m.Store = StorePostgres
		err = s.postgres(ctx, w, &m)
	} else {
		err = s.sqlite(ctx, w, &m, filepath.Join(work, sqlite.FileName))
	}
	if err == nil {
		err = s.files(ctx, w)
	}
	if err != nil {
		return Manifest{}, err
	}
	return m, w.close()
}

// busDir has the files of the embedded bus.
const busDir = "nats"

func (s Source) sqlite(ctx context.Context, w *writer, m *Manifest, copied string) (err error) {
	if m.Schema, err = sqlite.Copy(ctx, s.State, copied); err != nil {
		return err
	}
	if err := w.addJSON(manifestName, m); err != nil {
		return err
	}
	if err := s.config(w); err != nil {
		return err
	}
	return addFile(w, path.Join(databaseDir, sqlite.FileName), copied)
}

func (s Source) postgres(ctx context.Context, w *writer, m *Manifest) error {
	return postgres.Dump(ctx, s.Store, func(schema int64) error {
		m.Schema = schema
		if err := w.addJSON(manifestName, m); err != nil {
			return err
		}
		return s.config(w)
	}, func(name string, part []byte) error {
		return w.add(path.Join(databaseDir, name), 0o600, int64(len(part)), strings.NewReader(string(part)))
	})
}

// secretsDir is the folder with secrets beside the configuration that `sluice init` makes.
const secretsDir = "sluice-secrets"

// config adds the configuration and the secrets beside it.
func (s Source) config(w *writer) error {
	if s.Config == "" {
		return nil
	}
	if err := addFile(w, path.Join(configDir, filepath.Base(s.Config)), s.Config); err != nil {
		return err
	}
	return addFolder(w, configDir+"/"+secretsDir, filepath.Join(filepath.Dir(s.Config), secretsDir), nil)
}

// files adds the state folder, but not what belongs to the machine alone: the database, which is there already, the lock,
// and the bus's files, which the next start makes again.
func (s Source) files(ctx context.Context, w *writer) error {
	return addFolder(w, filesDir, s.State, func(rel string, dir bool) bool {
		first, _, _ := strings.Cut(rel, "/")
		switch {
		case ctx.Err() != nil:
			return false
		case strings.HasPrefix(first, sqlite.FileName), first == "lock", first == busDir, strings.HasPrefix(first, workPrefix), strings.HasPrefix(first, keptPrefix):
			return false
		case s.NoFiles && first == "workspaces":
			return false
		}
		return true
	})
}

// addFolder adds the regular files of a folder that may not exist. It follows no link.
func addFolder(w *writer, as, folder string, wanted func(rel string, dir bool) bool) error {
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only read from
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was deleted meanwhile
		}
		if err != nil {
			return err
		}
		if name != "." && wanted != nil && !wanted(name, entry.IsDir()) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		f, err := root.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return errors.Join(addOpen(w, path.Join(as, name), f), f.Close())
	})
}

func addFile(w *writer, as, name string) error {
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return err
	}
	return errors.Join(addOpen(w, as, f), f.Close())
}

func addOpen(w *writer, as string, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return w.add(as, int64(info.Mode().Perm()), info.Size(), f)
}
