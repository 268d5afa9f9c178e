package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"sluice/internal/hostos"
	"sluice/sessions"
)

const (
	// EntriesMax is the maximum number of entries in a listing.
	EntriesMax = 1000
	// walkMax is the maximum number of entries that a search or a listing examines.
	walkMax = 20_000
	// depthMax is the maximum folder depth of a search. Opening a file takes one step per level.
	depthMax = 100
	// batch is how many entries of a folder are read between two checks of the context.
	batch = 1000
)

// Entry is an entry of a folder.
type Entry struct {
	Path string `json:"path"` // relative to the workspace
	Type string `json:"type"` // file, folder, link or other
	Size int64  `json:"size"` // in bytes, of a file
}

// List returns the entries of a folder by name, and whether there are more. If only parts of the workspace are readable, its
// own list consists of these parts.
func (f *Files) List(ctx context.Context, name string) (entries []Entry, more bool, err error) {
	name, ok := clean(name)
	if !ok {
		return nil, false, sessions.ErrNotFound
	}
	if name == ownFolders && f.own.at != "" {
		return f.owns(), false, nil
	}
	at, err := f.at(name)
	if err != nil && name == "." && f.shared.Root != nil {
		return slices.Concat(f.owns(), f.parts()), false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer at.Close() //nolint:errcheck // only read from
	children, whole, err := at.children(ctx, walkMax)
	if err != nil {
		return nil, false, err
	}
	if more = !whole || len(children) > EntriesMax; more {
		children = children[:min(EntriesMax, len(children))]
	}
	if name == "." {
		entries = f.owns()
	}
	for _, c := range children {
		if path := path.Join(at.part, at.rel, c.Name()); !unlisted(path) {
			entries = append(entries, entryOf(path, c))
		}
	}
	return entries, more, nil
}

// unlisted are the place of the own folders, and files that are being written.
func unlisted(name string) bool {
	return name == ownFolders || strings.HasPrefix(path.Base(name), draftPrefix)
}

// owns is the session's own folder, if the workspace has more.
func (f *Files) owns() []Entry {
	if f.own.at == "" {
		return nil
	}
	return []Entry{{Path: f.own.at, Type: "folder"}}
}

// parts returns the existing readable parts of the shared folder.
func (f *Files) parts() []Entry {
	var entries []Entry
	for _, p := range f.shared.readable() {
		name, ok := clean(p)
		if !ok {
			continue
		}
		if info, err := f.shared.Lstat(name); err == nil {
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

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// Walk calls on for each regular file below a folder, or for the one file that name refers to, in the order of their
// paths; read reads the file. on returns false to end the walk. whole is false if there are more files than a search
// examines. Links are not followed.
func (f *Files) Walk(ctx context.Context, name string, on func(e Entry, read func() ([]byte, error)) bool) (whole bool, err error) {
	starts := []string{name}
	cleaned, _ := clean(name)
	if at, err := f.at(name); err == nil {
		_ = at.Close() // nothing was written
		if cleaned == "." && f.own.at != "" {
			starts = []string{f.own.at, "."}
		}
	} else if f.own.at != "" && (cleaned == "." || cleaned == ownFolders) {
		starts = []string{f.own.at}
		for _, e := range f.parts() {
			if cleaned == ownFolders {
				break
			}
			if e.Type == "folder" || e.Type == "file" {
				starts = append(starts, e.Path)
			}
		}
	} else {
		return false, err
	}
	w := walker{ctx: ctx, on: on, whole: true}
	for _, start := range starts {
		err := f.walk(&w, start)
		if errors.Is(err, errEnough) {
			return w.whole, nil
		}
		if err != nil {
			return false, err
		}
	}
	return w.whole, nil
}

// walker is one walk over files.
type walker struct {
	ctx   context.Context //nolint:containedctx // of one walk
	on    func(e Entry, read func() ([]byte, error)) bool
	seen  int
	whole bool
}

func (f *Files) walk(w *walker, start string) error {
	at, err := f.at(start)
	if err != nil {
		return err
	}
	defer at.Close() //nolint:errcheck // only read from
	info, err := at.Lstat(at.rel)
	if err != nil {
		return sessions.ErrNotFound
	}
	return w.visit(at, fs.FileInfoToDirEntry(info), 0)
}

// visit handles one entry and everything below it.
func (w *walker) visit(at place, d fs.DirEntry, depth int) error {
	if w.seen++; w.seen > walkMax {
		w.whole = false
		return errEnough
	}
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	switch {
	case d.Type().IsRegular():
		if !w.on(entryOf(path.Join(at.part, at.rel), d), at.read) {
			return errEnough
		}
		return nil
	case !d.IsDir():
		return nil
	case depth == depthMax:
		w.whole = false
		return nil
	}
	children, whole, err := at.children(w.ctx, walkMax-w.seen+1)
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if err != nil {
		return nil //nolint:nilerr // what can't be read is not there
	}
	w.whole = w.whole && whole
	for _, c := range children {
		if unlisted(path.Join(at.part, at.rel, c.Name())) {
			continue
		}
		if err := w.visit(place{at.Root, at.part, path.Join(at.rel, c.Name())}, c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// children returns up to most entries of a folder, by name. whole is false if there are more.
func (p place) children(ctx context.Context, most int) (entries []fs.DirEntry, whole bool, err error) {
	file, err := p.OpenFile(p.rel, os.O_RDONLY|hostos.NonBlock|hostos.Directory, 0)
	if err != nil {
		return nil, false, plain(err)
	}
	defer file.Close() //nolint:errcheck // only read from
	for !whole && len(entries) <= most {
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		read, err := file.ReadDir(batch)
		entries = append(entries, read...)
		if errors.Is(err, io.EOF) {
			whole = true
		} else if err != nil {
			return nil, false, plain(err)
		}
	}
	if len(entries) > most {
		entries, whole = entries[:most], false
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, whole, nil
}
