package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"sluice/internal/glob"
	"sluice/sessions"
)

// FileMax is the maximum size, in bytes, of a file that is read or written as a whole.
const FileMax = 16 << 20

// mounted is the folder's path in a sandbox.
const mounted = "/workspace"

// Errors that callers distinguish, besides [sessions.ErrNotFound].
var (
	ErrFolder   = errors.New("it is a folder")
	ErrTooLarge = fmt.Errorf("it has more than %d bytes", FileMax)
	ErrNotEmpty = errors.New("the folder is not empty")
	ErrReadOnly = errors.New("the session may read it but not change it")
)

// Files are a session's files. It is safe for concurrent use; Close ends it.
type Files struct {
	root   *os.Root
	access sessions.FileAccess
	quota  *Quota
}

// Open opens a session's folder, an absolute path. access says which part of it is accessible, and quota how much may
// be written; nil means no limit.
func Open(folder string, access sessions.FileAccess, quota *Quota) (*Files, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return &Files{root, access, quota}, nil
}

// Close releases the folder.
func (f *Files) Close() error { return f.root.Close() }

// All reports whether the whole folder is writable.
func (f *Files) All() bool {
	return slices.ContainsFunc(f.access.Write, func(p string) bool { return path.Clean(p) == "." })
}

// clean normalises a path relative to the folder; "." is the folder itself.
func clean(name string) (string, bool) {
	if name == mounted {
		name = "."
	}
	name = strings.TrimPrefix(name, mounted+"/")
	if strings.ContainsRune(name, 0) || len(name) > 4096 {
		return "", false
	}
	name = path.Clean(name)
	return name, fs.ValidPath(name)
}

// scope finds the accessible part of the folder that contains a path.
func scope(parts []string, name string) (part string, ok bool) {
	for _, p := range parts {
		p, sound := clean(p)
		if sound && (p == "." || p == name || strings.HasPrefix(name, p+"/")) {
			return p, true
		}
	}
	return "", false
}

// readable returns the parts that may be read: writable parts are readable, too.
func (f *Files) readable() []string { return slices.Concat(f.access.Read, f.access.Write) }

// place is a path below an opened part of the folder. No link leads out of that part.
type place struct {
	*os.Root
	part string // the opened part, relative to the session's folder
	rel  string // relative to the part
}

// at opens the part of the folder that contains a path. For writing, it creates a missing part.
func (f *Files) at(name string, write bool) (place, error) {
	name, ok := clean(name)
	if !ok {
		return place{}, sessions.ErrNotFound
	}
	parts := f.readable()
	if write {
		parts = f.access.Write
	}
	part, ok := scope(parts, name)
	if !ok {
		if _, read := scope(f.readable(), name); write && read {
			return place{}, ErrReadOnly
		}
		return place{}, sessions.ErrNotFound
	}
	if write && part != name {
		if err := f.root.MkdirAll(part, 0o700); err != nil {
			return place{}, plain(err)
		}
	}
	if info, err := f.root.Lstat(part); part == name && (err != nil || !info.IsDir()) {
		return f.single(name) // a part that is a file, or will be one
	}
	root, err := f.root.OpenRoot(part)
	if err != nil {
		return place{}, plain(err)
	}
	rel := "."
	switch {
	case part == ".":
		rel = name
	case name != part:
		rel = strings.TrimPrefix(name, part+"/")
	}
	return place{root, part, rel}, nil
}

// single opens the folder of a file that is a part by itself.
func (f *Files) single(name string) (place, error) {
	root, err := f.root.OpenRoot(path.Dir(name))
	if err != nil {
		return place{}, plain(err)
	}
	if info, err := root.Lstat(path.Base(name)); err == nil && !info.Mode().IsRegular() {
		_ = root.Close() // nothing was written
		return place{}, sessions.ErrNotFound
	}
	return place{root, path.Dir(name), path.Base(name)}, nil
}

// plain removes details about paths outside from an error.
func plain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EISDIR):
		return ErrFolder
	case errors.Is(err, syscall.ENOTEMPTY):
		return ErrNotEmpty
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return errors.New("the disk is full")
	}
	return sessions.ErrNotFound
}

// Read reads a regular file of at most [FileMax] bytes.
func (f *Files) Read(name string) ([]byte, error) {
	at, err := f.at(name, false)
	if err != nil {
		return nil, err
	}
	defer at.Close() //nolint:errcheck // only read from
	return at.read()
}

func (p place) read() ([]byte, error) {
	// Without O_NONBLOCK, opening a FIFO would wait for a writer.
	file, err := p.OpenFile(p.rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, plain(err)
	}
	defer file.Close() //nolint:errcheck // only read from
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, plain(err)
	case info.IsDir():
		return nil, ErrFolder
	case !info.Mode().IsRegular():
		return nil, sessions.ErrNotFound
	case info.Size() > FileMax:
		return nil, ErrTooLarge
	}
	content, err := io.ReadAll(io.LimitReader(file, FileMax+1)) // it may grow in the meantime
	if err == nil && len(content) > FileMax {
		return nil, ErrTooLarge
	}
	return content, err
}

// Write creates or replaces a file, and creates its parent folders. A concurrent reader sees the old content or the
// new. created reports whether the file is new. If the quota refuses, the error is [ErrNoSpace].
func (f *Files) Write(ctx context.Context, name string, content []byte) (made bool, err error) {
	if len(content) > FileMax {
		return false, ErrTooLarge
	}
	at, err := f.at(name, true)
	if err != nil {
		return false, err
	}
	defer at.Close() //nolint:errcheck // the file is closed by itself
	if at.rel == "." {
		return false, ErrFolder
	}
	mode := fs.FileMode(0o600)
	info, err := at.Lstat(at.rel)
	switch {
	case err == nil && info.IsDir():
		return false, ErrFolder
	case err == nil && !info.Mode().IsRegular():
		return false, sessions.ErrNotFound
	case err == nil:
		mode = info.Mode().Perm()
	default:
		made = true
	}
	entries := int64(2 + strings.Count(at.rel, "/")) // at most: the file and its parent folders
	if err := f.quota.Admit(ctx, f.root.Name(), int64(len(content))+entries*entryCost); err != nil {
		return false, err
	}
	return made, at.write(content, mode)
}

func (p place) write(content []byte, mode fs.FileMode) error {
	if dir := path.Dir(p.rel); dir != "." {
		if err := p.MkdirAll(dir, 0o700); err != nil {
			return plain(err)
		}
	}
	draft := path.Join(path.Dir(p.rel), ".draft-"+uuid.NewString())
	file, err := p.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return plain(err)
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = p.Rename(draft, p.rel)
	}
	if err != nil {
		return errors.Join(plain(err), p.Remove(draft))
	}
	return nil
}

// Remove deletes a file, a link or an empty folder.
func (f *Files) Remove(name string) error {
	at, err := f.at(name, true)
	if err != nil {
		return err
	}
	defer at.Close() //nolint:errcheck // nothing is written through it
	if at.rel == "." {
		return ErrFolder
	}
	return plain(at.Remove(at.rel))
}

// ParseGlob parses a pattern for workspace paths, see [glob.ParsePath].
func ParseGlob(pattern string) (glob.Path, error) {
	return glob.ParsePath(strings.TrimPrefix(strings.TrimPrefix(pattern, mounted+"/"), "./"))
}
