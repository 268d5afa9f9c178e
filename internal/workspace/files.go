package workspace

import (
	"bytes"
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

	"sluice/internal/glob"
	"sluice/policy/flow"
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
	ErrLongName = errors.New("a name in the path is too long")
)

// clean normalises a path relative to the workspace; "." is the workspace itself.
func clean(name string) (string, bool) {
	if name == mounted {
		name = "."
	}
	name = strings.TrimPrefix(name, mounted+"/")
	if strings.ContainsRune(name, 0) || len(name) > 4096 {
		return "", false
	}
	name = path.Clean(name)
	return name, fs.ValidPath(name) && !strings.HasPrefix(path.Base(name), draftPrefix)
}

// draftPrefix begins the names of files that are being written. Nobody reads them: what they hold has no label yet.
const draftPrefix = ".draft-"

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
func (t tree) readable() []string { return slices.Concat(t.access.Read, t.access.Write) }

// place is a path below an opened part of a folder. No link leads out of that part.
type place struct {
	*os.Root
	part string // the opened part, relative to the workspace
	rel  string // relative to the part
}

// open opens the part of the folder that contains a path in it. For writing, it creates a missing part.
func (t tree) open(name string, write bool) (place, error) {
	parts := t.readable()
	if write {
		parts = t.access.Write
	}
	part, ok := scope(parts, name)
	if !ok {
		if _, read := scope(t.readable(), name); write && read {
			return place{}, ErrReadOnly
		}
		return place{}, sessions.ErrNotFound
	}
	if info, err := t.Lstat(part); part == name && (err != nil || !info.IsDir()) {
		return t.single(name, write) // a part that is a file, or will be one
	}
	root, err := descend(t.Root, part, write)
	if err != nil {
		return place{}, plain(err)
	}
	rel, _ := below(name, part)
	if part == "." {
		rel = name
	}
	return place{root, path.Join(t.at, part), rel}, nil
}

// single opens the folder of a file that is a part by itself.
func (t tree) single(name string, write bool) (place, error) {
	root, err := descend(t.Root, path.Dir(name), write)
	if err != nil {
		return place{}, plain(err)
	}
	if info, err := root.Lstat(path.Base(name)); err == nil && !info.Mode().IsRegular() {
		_ = root.Close() // nothing was written
		return place{}, sessions.ErrNotFound
	}
	return place{root, path.Join(t.at, path.Dir(name)), path.Base(name)}, nil
}

// descend opens a folder below another. No link is followed on the way: the access to a folder is not access to what somebody
// else has linked to in its place. With create, missing folders are created.
func descend(from *os.Root, name string, create bool) (*os.Root, error) {
	at, err := from.OpenRoot(".")
	if err != nil || name == "." {
		return at, err
	}
	for part := range strings.SplitSeq(name, "/") {
		next, err := step(at, part, create)
		_ = at.Close() // nothing was written through it
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// step opens a folder in another. What is opened is what was looked at, whatever happens in between.
func step(from *os.Root, name string, create bool) (*os.Root, error) {
	seen, err := from.Lstat(name)
	if create && errors.Is(err, fs.ErrNotExist) {
		if err := from.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		seen, err = from.Lstat(name)
	}
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, fs.ErrNotExist
	}
	root, err := from.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := root.Lstat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// at opens the part of the workspace that contains a path, to read it.
func (f *Files) at(name string) (place, error) {
	t, rel, ok := f.locate(name)
	if !ok {
		return place{}, sessions.ErrNotFound
	}
	return t.open(rel, false)
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
		return spaceError("the disk is full")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return ErrLongName
	}
	return sessions.ErrNotFound
}

// Read reads a regular file of at most [FileMax] bytes.
func (f *Files) Read(name string) ([]byte, error) {
	at, err := f.at(name)
	if err != nil {
		return nil, err
	}
	defer at.Close() //nolint:errcheck // only read from
	return at.read()
}

func (p place) read() ([]byte, error) {
	file, info, err := p.open()
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read from
	if info.Size() > FileMax {
		return nil, ErrTooLarge
	}
	content, err := io.ReadAll(io.LimitReader(file, FileMax+1)) // it may grow in the meantime
	if err == nil && len(content) > FileMax {
		return nil, ErrTooLarge
	}
	return content, err
}

// Write is [Files.Copy] of a content of at most [FileMax] bytes. made reports whether the file is new.
func (f *Files) Write(ctx context.Context, name string, content []byte, label flow.Label) (made bool, err error) {
	if len(content) > FileMax {
		return false, ErrTooLarge
	}
	w, err := f.Copy(ctx, name, bytes.NewReader(content), label, nil)
	return w.Made, err
}

// Remove deletes a file, a link or an empty folder. The label is that of the caller. If a file is not the expected version, the
// error is [ErrChanged].
func (f *Files) Remove(name string, label flow.Label, expect Expect) error {
	t, rel, ok := f.locate(name)
	if !ok {
		return sessions.ErrNotFound
	}
	at, err := t.open(rel, true)
	if err != nil {
		return err
	}
	defer at.Close() //nolint:errcheck // nothing is written through it
	if at.rel == "." {
		return ErrFolder
	}
	if err := f.mayWrite(t, label); err != nil {
		return err
	}
	lock := f.opener.replacingOf(t.Name(), rel)
	lock.Lock()
	defer lock.Unlock()
	if info, err := at.Lstat(at.rel); expect != nil && (err != nil || !expect(Tag(info))) {
		return ErrChanged
	}
	return plain(at.Remove(at.rel))
}

// ParseGlob parses a pattern for workspace paths, see [glob.ParsePath].
func ParseGlob(pattern string) (glob.Path, error) {
	return glob.ParsePath(strings.TrimPrefix(strings.TrimPrefix(pattern, mounted+"/"), "./"))
}
