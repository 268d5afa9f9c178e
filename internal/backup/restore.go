package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"sluice/internal/hostos"
	"sluice/store/postgres"
	"sluice/store/sqlite"
)

// Target is where an archive is put back.
type Target struct {
	State   string // state folder
	Store   string // URL of PostgreSQL; empty: SQLite in the state folder
	Config  string // where the configuration goes; empty: it stays in the archive
	Replace bool   // what is there may be put aside
	Check   bool   // only read the archive and say whether it could be restored
	Now     time.Time
}

// Restored says what was done.
type Restored struct {
	Manifest
	Kept string // the folder with what was there before; empty: nothing was
}

// keptPrefix begins the name of the folder with what was there before.
const keptPrefix = "before-restore-"

// Restore puts an archive back. Until it has read and checked all of it, it changes nothing.
func Restore(ctx context.Context, in io.Reader, t Target, with []age.Identity) (_ Restored, err error) {
	r, err := open(in, with)
	if err != nil {
		return Restored{}, err
	}
	if err := t.fits(ctx, r.Manifest); err != nil {
		return Restored{}, err
	}
	if err := os.MkdirAll(t.State, 0o700); err != nil {
		return Restored{}, err
	}
	if !t.Check { // which changes nothing, and runs beside a gateway
		unlock, err := t.lock()
		if err != nil {
			return Restored{}, err
		}
		defer func() { err = errors.Join(err, unlock()) }()
		if err := t.free(ctx); err != nil {
			return Restored{}, err
		}
	}
	work, end, err := workspace(t.State)
	if err != nil {
		return Restored{}, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := unpack(ctx, r, work); err != nil {
		return Restored{}, err
	}
	if t.Store == "" {
		if err := sqlite.Check(ctx, filepath.Join(work, databaseDir, sqlite.FileName)); err != nil {
			return Restored{}, err
		}
	}
	done := Restored{Manifest: r.Manifest}
	if t.Check {
		return done, nil
	}
	done.Kept, err = t.place(ctx, work, r.Manifest)
	return done, err
}

// fits refuses an archive that this program or this target can't use.
func (t Target) fits(_ context.Context, m Manifest) error {
	store, newest := StoreSQLite, sqlite.Schema()
	if t.Store != "" {
		store, newest = StorePostgres, postgres.Schema()
	}
	switch {
	case m.Store != store:
		return fmt.Errorf("the backup is of %s, and the configuration (store.url) names %s: change store.url, or use another backup", m.Store, store)
	case m.Schema > newest:
		return fmt.Errorf("the backup is of version %s, which is newer than this program (schema %d, this one knows %d): install that version first", m.Version, m.Schema, newest)
	}
	return nil
}

// lock makes sure that no gateway uses the state folder.
func (t Target) lock() (func() error, error) {
	f, err := os.OpenFile(filepath.Join(filepath.Clean(t.State), "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := hostos.Lock(f); err != nil {
		if errors.Is(err, hostos.ErrLocked) {
			err = fmt.Errorf("a gateway uses the state folder %s: stop it first", t.State)
		}
		return nil, errors.Join(err, f.Close())
	}
	return func() error { return hostos.Release(f) }, nil
}

// free reports whether there is nothing that the archive would replace.
func (t Target) free(ctx context.Context) error {
	if t.Store != "" {
		empty, err := postgres.Empty(ctx, t.Store)
		if err != nil {
			return err
		}
		if !empty {
			return errors.New("the database is not empty: create a new one and name it in store.url")
		}
	}
	if t.Config != "" {
		if _, err := os.Lstat(t.Config); err == nil { // it is never put aside: the files would be in place, and the database not
			return fmt.Errorf("%s exists already: move it away, or name another file", t.Config)
		}
	}
	if t.Replace {
		return nil
	}
	for _, name := range []string{sqlite.FileName, "token", "workspaces"} {
		if _, err := os.Lstat(filepath.Join(t.State, name)); err == nil {
			return fmt.Errorf("%s has the state of a gateway: use --replace to move it aside, or restore to another folder", t.State)
		}
	}
	return nil
}

// unpack writes all members into a folder, and checks them.
func unpack(ctx context.Context, r *reader, work string) error {
	root, err := os.OpenRoot(work)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // its files are closed one by one
	return r.each(func(name string, content *member) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o700); err != nil {
			return err
		}
		f, err := root.OpenFile(filepath.FromSlash(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, fs.FileMode(content.mode)|0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		if err != nil {
			err = cut(name, err)
		}
		return errors.Join(err, f.Sync(), f.Close())
	})
}

// place puts the unpacked members into their places: the files first, the database last, so that a restore that was
// interrupted can be repeated.
func (t Target) place(ctx context.Context, work string, m Manifest) (kept string, err error) {
	kept = filepath.Join(t.State, keptPrefix+t.Now.UTC().Format("20060102T150405Z"))
	used := false
	aside := func(name string) error {
		old := filepath.Join(t.State, name)
		if _, err := os.Lstat(old); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		used = true
		if err := os.MkdirAll(kept, 0o700); err != nil {
			return err
		}
		return os.Rename(old, filepath.Join(kept, name))
	}
	move := func(from string) error {
		entries, err := os.ReadDir(from)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range entries { // what can't be put aside must not be written over
			if err := aside(e.Name()); err != nil {
				return err
			}
			if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(t.State, e.Name())); err != nil {
				return err
			}
		}
		return nil
	}
	if err := move(filepath.Join(work, filesDir)); err != nil {
		return "", fmt.Errorf("put the files in place: %w", err)
	}
	if err := t.placeConfig(filepath.Join(work, configDir), aside); err != nil {
		return "", fmt.Errorf("put the configuration in place: %w", err)
	}
	if t.Store != "" {
		if err := t.load(ctx, filepath.Join(work, databaseDir), m); err != nil {
			return "", err
		}
	} else {
		for _, name := range []string{sqlite.FileName + "-wal", sqlite.FileName + "-shm", busDir} {
			if err := aside(name); err != nil {
				return "", err
			}
		}
		if err := move(filepath.Join(work, databaseDir)); err != nil {
			return "", fmt.Errorf("put the database in place: %w", err)
		}
	}
	if !used {
		kept = ""
	}
	return kept, nil
}

// placeConfig writes the configuration and its secrets, if a place for them is named; else they go into the state
// folder, so that nothing of the archive is lost.
func (t Target) placeConfig(from string, aside func(name string) error) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if t.Config == "" {
		const name = "restored-config"
		return errors.Join(aside(name), os.Rename(from, filepath.Join(t.State, name)))
	}
	folder := filepath.Dir(t.Config)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, e := range entries {
		to := filepath.Join(folder, e.Name())
		if !e.IsDir() {
			to = t.Config
		}
		if err := copyTree(filepath.Join(from, e.Name()), to); err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies a file or a folder, which may be on another disk. Nothing is written over.
func copyTree(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	data, err := os.ReadFile(filepath.Clean(from))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Clean(to), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// load fills an empty PostgreSQL with the parts of its tables.
func (t Target) load(ctx context.Context, folder string, m Manifest) error {
	var names []string
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			rel, relErr := filepath.Rel(folder, name)
			names, err = append(names, filepath.ToSlash(rel)), relErr
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(names, strings.Compare)
	return postgres.Load(ctx, t.Store, m.Schema, names, func(name string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(folder, filepath.FromSlash(name)))
	})
}
