package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sluice/sessions"
)

const (
	// EntriesMost is how many entries a listing has at most.
	EntriesMost = 1000
	// walkMost is how many entries one search looks at, at most.
	walkMost = 20_000
)

// Entry is one thing in a folder.
type Entry struct {
	Path string `json:"path"` // relative to the session's folder
	Type string `json:"type"` // file, folder, link or other
	Size int64  `json:"size"` // in bytes, of a file
}

// List shows what is in a folder, by name, and whether there is more than is shown.
// Where only parts of the session's folder may be read, the list of that itself are those parts.
func (f *Files) List(name string) (entries []Entry, more bool, err error) {
	at, err := f.at(name, false)
	if name, ok := clean(name); err != nil && ok && name == "." {
		return f.parts(), false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer at.Close() //nolint:errcheck // only read from
	children, err := fs.ReadDir(at.FS(), at.rel)
	if err != nil {
		return nil, false, plain(err)
	}
	if more = len(children) > EntriesMost; more {
		children = children[:EntriesMost]
	}
	for _, c := range children {
		entries = append(entries, entryOf(path.Join(at.part, at.rel, c.Name()), c))
	}
	return entries, more, nil
}

// parts are the readable parts of the folder that are there.
func (f *Files) parts() []Entry {
	var entries []Entry
	for _, p := range f.readable() {
		name, ok := clean(p)
		if !ok {
			continue
		}
		if info, err := f.root.Lstat(name); err == nil {
			entries = append(entries, entryOf(name, fs.FileInfoToDirEntry(info)))
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return slices.Compact(entries)
}

func entryOf(name string, c fs.DirEntry) Entry {
	e := Entry{Path: name, Type: "other"}
	switch mode := c.Type(); {
	case mode.IsDir():
		e.Type = "folder"
	case mode&fs.ModeSymlink != 0:
		e.Type = "link"
	case mode.IsRegular():
		e.Type = "file"
		if info, err := c.Info(); err == nil {
			e.Size = info.Size()
		}
	}
	return e
}

// errEnough ends a walk.
var errEnough = errors.New("enough")

// Walk calls on for each regular file below a folder, or for the one that name is, in
// the order of their paths; read reads it. on returns false to end it. whole is
// false if more files are there than one search looks at. Links are not followed.
func (f *Files) Walk(ctx context.Context, name string, on func(e Entry, read func() ([]byte, error)) bool) (whole bool, err error) {
	starts := []string{name}
	if at, err := f.at(name, false); err == nil {
		_ = at.Close() // nothing was written through it
	} else if clean, ok := clean(name); ok && clean == "." {
		starts = nil
		for _, e := range f.parts() {
			if e.Type == "folder" || e.Type == "file" {
				starts = append(starts, e.Path)
			}
		}
	} else {
		return false, err
	}
	seen := 0
	for _, start := range starts {
		err := f.walk(ctx, start, &seen, on)
		if errors.Is(err, errEnough) {
			return seen <= walkMost, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

func (f *Files) walk(ctx context.Context, start string, seen *int, on func(e Entry, read func() ([]byte, error)) bool) error {
	at, err := f.at(start, false)
	if err != nil {
		return err
	}
	defer at.Close() //nolint:errcheck // only read from
	err = fs.WalkDir(at.FS(), at.rel, func(rel string, d fs.DirEntry, err error) error {
		if *seen++; *seen > walkMost {
			return errEnough
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // what can't be read is not there
		}
		if !on(entryOf(path.Join(at.part, rel), d), place{at.Root, at.part, rel}.read) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return sessions.ErrNotFound
	}
	return err
}
