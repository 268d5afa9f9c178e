package sqlite

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	driver "modernc.org/sqlite"
	"zombiezen.com/go/sqlite"

	"sluice/internal/hostos"
	"sluice/store/engine"
)

// explain turns an error of the file or the disk into one that says what to do. Other errors stay as they are.
func explain(err error, dir string) error {
	path := filepath.Join(dir, FileName)
	unavailable := func(reason, fix string) error { return &engine.Unavailable{Reason: reason, Fix: fix, Err: err} }
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return unavailable("the disk is full", "free space for "+dir)
	case errors.Is(err, syscall.EROFS):
		return unavailable("the file system of "+dir+" is read-only", "mount it writable, or set state to another folder")
	case errors.Is(err, fs.ErrPermission):
		return unavailable("no permission to use "+dir, "give its user write permission, or set state to another folder")
	}
	switch primaryCode(err) {
	case sqlite.ResultFull:
		return unavailable("the disk is full", "free space for "+dir)
	case sqlite.ResultReadOnly:
		return unavailable("the database is read-only", "give write permission on "+path+" and its folder")
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return unavailable("another program holds the database's lock", "close the program that has "+path+" open")
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return unavailable("the database is damaged", "stop, keep a copy of "+path+", and restore a backup or salvage it with: sqlite3 "+FileName+" .recover")
	case sqlite.ResultIOErr:
		if full(dir) { // SQLite does not say why its shared memory file can't grow
			return unavailable("the disk is full", "free space for "+dir)
		}
		return unavailable("the disk reports errors", "check the system log for errors of the disk of "+dir+", and the write limits of its user (quota, ulimit -f)")
	case sqlite.ResultCantOpen:
		return unavailable("the database can't be opened", "make sure that "+path+" is a file that this user can read and write")
	}
	return err
}

// primaryCode returns SQLite's code for an error without the detail, from a statement or a migration.
func primaryCode(err error) sqlite.ResultCode {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return sqlite.ResultCode(e.Code()).ToPrimary()
	}
	return sqlite.ErrCode(err).ToPrimary() // ResultError if the error is not SQLite's
}

// explainTrail is explain for additions to the audit trail: if the database is not at fault, the trail is.
func explainTrail(err error, dir string) error {
	if err = explain(err, dir); engine.IsUnavailable(err) {
		return err
	}
	return engine.BrokenTrail(err)
}

// full reports whether the file system has less space than SQLite needs for its next step.
func full(dir string) bool {
	free, _, err := hostos.Space(dir)
	return err == nil && free < 64<<10
}
