package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sluice/internal/hostos"
)

const (
	// workPrefix begins the names of what a backup or a restore in progress has in the state folder, which is no part of a
	// backup.
	workPrefix = ".backup-"
	// workLock is locked while a backup or a restore uses the state folder: the system unlocks it when the process dies.
	workLock = workPrefix + "lock"
)

// workspace makes a folder for the work of one backup or restore of a state folder, and removes those that killed
// processes have left: each of them can have a copy of the whole database. The function that it returns removes the folder.
func workspace(state string) (folder string, done func() error, err error) {
	unlock, err := lockWork(state)
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, unlock())
		}
	}()
	if err := sweep(state); err != nil {
		return "", nil, err
	}
	folder, err = os.MkdirTemp(state, workPrefix)
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for the copy: %w", err)
	}
	return folder, func() error { return errors.Join(os.RemoveAll(folder), unlock()) }, nil
}

// Sweep removes what killed backups and restores have left in a state folder, unless one is in progress.
func Sweep(state string) error {
	unlock, err := lockWork(state)
	if errors.Is(err, hostos.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(sweep(state), unlock())
}

func lockWork(state string) (func() error, error) {
	f, err := os.OpenFile(filepath.Join(filepath.Clean(state), workLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := hostos.Lock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("another backup or restore of %s is in progress: %w", state, err), f.Close())
	}
	return func() error { return hostos.Release(f) }, nil
}

// sweep is called with the lock.
func sweep(state string) (err error) {
	entries, failed := os.ReadDir(state)
	if failed != nil {
		return failed
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), workPrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(state, e.Name())))
		}
	}
	return err
}

// partSuffix ends the name of a file with a backup that is not complete.
const partSuffix = ".part"

// File is a new backup on the disk. It gets its name when it is complete; until then the name has another ending. What a
// killed process has left is written over.
type File struct {
	*os.File
	folder *os.Root
	name   string
}

// NewFile begins a file of this name.
func NewFile(name string) (_ *File, err error) {
	folder, err := os.OpenRoot(filepath.Dir(filepath.Clean(name)))
	if err != nil {
		return nil, err
	}
	f := &File{folder: folder, name: filepath.Base(name)}
	defer func() {
		if err != nil {
			err = errors.Join(err, folder.Close())
		}
	}()
	switch info, err := os.Stat(name); {
	case err != nil || info.Mode().IsRegular():
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder", name)
	default: // Keep would replace it, such as /dev/null
		return nil, fmt.Errorf("%s is a device or a pipe, not a file: use --to - and redirect the standard output", name)
	}
	for {
		if f.File, err = folder.OpenFile(f.name+partSuffix, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			return nil, err
		}
		current, err := f.lock()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("write %s: %w", name, err), f.File.Close())
		}
		if current {
			return f, f.Truncate(0)
		}
		if err := f.File.Close(); err != nil {
			return nil, err
		}
	}
}

// lock locks the file. It is not current if another process has completed it before that.
func (f *File) lock() (current bool, err error) {
	if err := hostos.Lock(f.File); err != nil {
		return false, err
	}
	locked, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := f.folder.Stat(f.name + partSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(locked, named), err
}

// Keep completes the file.
func (f *File) Keep() error {
	err := f.Sync()
	if err == nil {
		err = f.folder.Rename(f.name+partSuffix, f.name)
	}
	if err != nil {
		return errors.Join(err, f.Drop())
	}
	return f.end()
}

// Drop removes the file.
func (f *File) Drop() error {
	return errors.Join(f.folder.Remove(f.name+partSuffix), f.end())
}

func (f *File) end() error { return errors.Join(f.File.Close(), f.folder.Close()) }
