package prompt

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"time"
)

// bareFolder remembers that a workspace has no files of the owner, so that a prompt costs one look at the folder
// instead of one at each file. It is safe for concurrent use.
type bareFolder struct{ last atomic.Pointer[bareState] }

// bareState is a folder without the owner's files, as it was then.
type bareState struct {
	path   string
	folder fs.FileInfo
}

// settled is how long a folder must have been unchanged before its state is remembered: two changes within one tick of
// the file system's clock leave the same time.
const settled = 2 * time.Second

// is reports whether a workspace certainly has no files of the owner.
func (b *bareFolder) is(workspace string) bool {
	if workspace == "" {
		return false
	}
	folder, err := os.Stat(workspace)
	if err != nil {
		return false
	}
	if last := b.last.Load(); last != nil && last.path == workspace && os.SameFile(last.folder, folder) && last.folder.ModTime().Equal(folder.ModTime()) {
		return true
	}
	if time.Since(folder.ModTime()) >= settled && isBare(workspace) { // the file system has no injected clock
		b.last.Store(&bareState{workspace, folder})
	}
	return false
}

// isBare looks for the files themselves. A link counts as a file: what it leads to may be made later.
func isBare(workspace string) bool {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return false
	}
	defer root.Close() //nolint:errcheck // only read from
	for _, name := range append(LocalAgentsFileNames(), SpineFileName) {
		if _, err := root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}
