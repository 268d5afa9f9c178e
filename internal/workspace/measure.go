package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"sluice/internal/hostos"
)

const (
	// nestedMax is the folder depth to which files are measured: each level needs an open folder.
	nestedMax = 256
	// nestedCost is the assumed size of a folder that is deeper or can't be read.
	nestedCost = 1 << 30
)

// measure returns the disk space of a folder with its content. It follows no link. check is called now and then; its
// error ends the measurement.
func measure(ctx context.Context, folder string, check func() error) (int64, error) {
	root, err := readable(func() (*os.Root, error) { return os.OpenRoot(folder) }, func() error { return os.Chmod(folder, 0o700) }) //nolint:gosec // a folder needs the x
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("measure files: %w", err)
	}
	m := meter{ctx: ctx, check: check}
	err = m.add(root, 0)
	return m.bytes, errors.Join(err, root.Close())
}

// readable opens a folder. If a command has removed the folder's permissions, it restores them: otherwise the folder
// would hide its files from the limits.
func readable(open func() (*os.Root, error), allow func() error) (*os.Root, error) {
	root, err := open()
	if errors.Is(err, os.ErrPermission) && allow() == nil {
		return open()
	}
	return root, err
}

// meter adds up the disk space of files.
type meter struct {
	ctx   context.Context //nolint:containedctx // of one measurement
	check func() error
	bytes int64
}

func (m *meter) add(root *os.Root, depth int) error {
	if depth > nestedMax {
		m.bytes += nestedCost
		return nil
	}
	dir, err := root.Open(".")
	if err != nil {
		return nil // it was deleted
	}
	defer dir.Close() //nolint:errcheck // only read from
	for {
		if m.ctx.Err() != nil {
			return context.Cause(m.ctx)
		}
		if m.check != nil {
			if err := m.check(); err != nil {
				return err
			}
		}
		names, err := dir.Readdirnames(batch)
		for _, name := range names {
			if err := m.entry(root, name, depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return nil // it is being deleted
		}
	}
}

// entry adds a file, or a folder with its content. An entry that was deleted in the meantime counts nothing.
func (m *meter) entry(root *os.Root, name string, depth int) error {
	info, err := root.Lstat(name)
	if err != nil {
		return nil // see above
	}
	if abandoned(name, info) && root.Remove(name) == nil {
		return nil
	}
	m.bytes += entryCost
	if !info.IsDir() {
		m.bytes += hostos.SizeOnDisk(info)
		return nil
	}
	below, err := readable(func() (*os.Root, error) { return root.OpenRoot(name) }, func() error { return root.Chmod(name, 0o700) })
	switch {
	case errors.Is(err, os.ErrPermission): // owned by another user
		m.bytes += nestedCost
		return nil
	case err != nil:
		return nil // see above
	}
	defer below.Close() //nolint:errcheck // only read from
	return m.add(below, depth+1)
}

// draftLife is how long a file may take to be written.
const draftLife = 24 * time.Hour

// abandoned reports whether a file was being written when its gateway died. Nobody can see such a file to delete it.
func abandoned(name string, info os.FileInfo) bool {
	return strings.HasPrefix(name, draftPrefix) && info.Mode().IsRegular() && time.Since(info.ModTime()) > draftLife
}

// subfolders returns the names of the folders in a folder.
func subfolders(ctx context.Context, folder string) (names []string, err error) {
	dir, err := os.Open(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("measure files: %w", err)
	}
	defer dir.Close() //nolint:errcheck // only read from
	for {
		entries, err := dir.ReadDir(batch)
		for _, e := range entries {
			if e.IsDir() {
				names = append(names, e.Name())
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return names, nil
		case err != nil:
			return nil, fmt.Errorf("measure files: %w", err)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
	}
}
