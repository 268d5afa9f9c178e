package workspace

import (
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"slices"

	"sluice/internal/hostos"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Mount is a part of the workspace that a command sees.
type Mount struct {
	File  *os.File // nil: an empty folder
	At    string   // relative to the workspace; empty: the workspace itself
	Write bool
}

// View is what a command of a session sees of the workspace. Close ends it.
type View struct {
	Mounts  []Mount
	Label   flow.Label // of the shared files that it can read
	Folders []string   // absolute paths of the folders that it can write to

	files *Files
}

// Close closes the opened parts.
func (v *View) Close() {
	for _, m := range v.Mounts {
		if m.File != nil {
			_ = m.File.Close() // nothing was written through it
		}
	}
}

// View opens what a command of a session sees: exactly what its tools see. What the session has learned does not get below its level:
// then the shared files are read-only. A session that has untrusted text, or may read some there, is in the marks before
// the command runs.
func (f *Files) View(ctx context.Context, learned flow.Label) (v *View, err error) {
	v = &View{files: f, Label: flow.Bottom(), Folders: []string{f.space.Own}}
	defer func() {
		if err != nil {
			v.Close()
		}
	}()
	if f.shared.Root == nil {
		return v, v.add(f.own, ".", "", true)
	}
	if v.Label, err = f.Reading(ctx, ".", func() error { return nil }); err != nil {
		return v, err
	}
	write := f.mayWrite(f.shared, learned) == nil
	if err := f.viewShared(v, write); err != nil {
		return v, err
	}
	if write && len(f.space.Access.Write) > 0 {
		v.Folders = append(v.Folders, f.space.Shared)
		if err := v.mark(ctx, learned.Join(v.Label)); err != nil {
			return v, err
		}
	}
	v.Mounts = append(v.Mounts, Mount{At: ownFolders})
	return v, v.add(f.own, ".", f.own.at, true)
}

// mark marks what the command can write, if it may have read untrusted text.
func (v *View) mark(ctx context.Context, label flow.Label) (err error) {
	for _, p := range v.files.space.Access.Write {
		if p, ok := clean(p); ok {
			err = errors.Join(err, v.files.mark(ctx, v.files.shared, p, label))
		}
	}
	return err
}

// Ended gives the label of what the command may have read, after it has ended: others may have written untrusted text meanwhile. Then what it
// has written is marked, too.
func (v *View) Ended(ctx context.Context) (flow.Label, error) {
	if v.files.shared.Root == nil || v.Label.Trust() == flow.Untrusted {
		return v.Label, nil
	}
	label, err := v.files.Reading(ctx, ".", func() error { return nil })
	if err == nil && len(v.Folders) > 1 {
		err = v.mark(ctx, label)
	}
	return label, err
}

// viewShared adds the parts of the shared folder, each folder before what is in it.
func (f *Files) viewShared(v *View, write bool) error {
	parts := map[string]bool{}
	for _, p := range f.space.Access.Read {
		p, ok := clean(p)
		if _, written := scope(f.space.Access.Write, p); ok && !written {
			parts[p] = false
		}
	}
	for _, p := range f.space.Access.Write {
		if p, ok := clean(p); ok {
			parts[p] = write
		}
	}
	if whole, ok := parts["."]; ok {
		delete(parts, ".")
		if err := v.add(f.shared, ".", "", whole); err != nil {
			return err
		}
	} else {
		v.Mounts = append(v.Mounts, Mount{})
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if err := v.add(f.shared, name, name, parts[name]); err != nil {
			return err
		}
	}
	return nil
}

// add opens a part of a folder. A part to write to is created as a folder if it is missing; one to read is left out.
func (v *View) add(t tree, name, at string, write bool) error {
	file, err := part(t.Root, name, write)
	if errors.Is(err, sessions.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	v.Mounts = append(v.Mounts, Mount{File: file, At: at, Write: write})
	return nil
}

// part opens a folder or a regular file, and follows no link.
func part(root *os.Root, name string, create bool) (*os.File, error) {
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
		folder, err := descend(root, path.Dir(name), false)
		if err != nil {
			return nil, plain(err)
		}
		defer folder.Close() //nolint:errcheck // nothing is written through it
		file, err := folder.OpenFile(path.Base(name), os.O_RDONLY|hostos.NonBlock|hostos.NoFollow, 0)
		if err != nil {
			return nil, plain(err)
		}
		if opened, err := file.Stat(); err != nil || !os.SameFile(info, opened) {
			return nil, errors.Join(sessions.ErrNotFound, file.Close())
		}
		return file, nil
	}
	folder, err := descend(root, name, create)
	if err != nil {
		return nil, plain(err)
	}
	defer folder.Close() //nolint:errcheck // nothing is written through it
	file, err := folder.Open(".")
	if err != nil {
		return nil, plain(err)
	}
	return file, nil
}
