package workspace

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

const (
	// ownFolders is the folder in which each session sees its own folder.
	ownFolders = ".sessions"
	// sharedName is the name of the shared folder in an agent's workspace.
	sharedName = "files"
)

// Space is where a session's files are, and what it may see and change.
type Space struct {
	Agent   string
	Session sessions.ID
	Own     string              // its folder, an absolute path
	Shared  string              // the folder that the agent's sessions share, an absolute path
	Access  sessions.FileAccess // to the shared folder; without any path, the session sees its own folder alone
	Level   flow.Level          // of the shared folder; invalid: PUBLIC
}

// SharedFolder is the folder that an agent's sessions share, in the agent's workspace.
func SharedFolder(workspace string) string { return filepath.Join(workspace, sharedName) }

// alone reports whether the session sees its own folder alone.
func (s Space) alone() bool {
	return s.Shared == "" || len(s.Access.Read) == 0 && len(s.Access.Write) == 0
}

// SharedLevel is the level of the shared folder.
func (s Space) SharedLevel() flow.Level {
	if s.Level.Valid() {
		return s.Level
	}
	return flow.Public
}

// Shares reports whether a path lies in the shared folder.
func (s Space) Shares(name string) bool {
	name, ok := clean(name)
	_, reserved := below(name, ownFolders)
	return ok && !reserved && !s.alone()
}

// Marks remembers which shared files may have untrusted text. A path stands for everything below it, too.
type Marks interface {
	MarkFile(ctx context.Context, agent, path string) error
	UnmarkFile(ctx context.Context, agent, path string) error
	// FileMarked reports whether a path is marked, or a folder that it lies in; with below, also whether anything below it is.
	FileMarked(ctx context.Context, agent, path string, below bool) (bool, error)
}

// A WriteDownError refuses to write what is above the level of the shared files.
type WriteDownError struct {
	Has, Files flow.Level
	Own        string // where it may be written
}

func (e *WriteDownError) Error() string {
	return fmt.Sprintf("this would be %s, and the shared files are %s: write it below %s/, or ask the owner to set workspaceClassification of this agent", e.Has, e.Files, e.Own)
}

// tree is one of the folders that a session sees.
type tree struct {
	*os.Root
	at     string // its path in the workspace; "" if it is the workspace itself
	access sessions.FileAccess
	shared bool
}

// Files are a session's files. It is safe for concurrent use; Close ends it.
type Files struct {
	space  Space
	own    tree
	shared tree // without a Root if the session sees its own folder alone
	opener *Opener
	quota  *Quota
}

// Opener opens the files of sessions. A gateway has one: it also lets only one request at a time replace a file. It is safe for
// concurrent use.
type Opener struct {
	Quota *Quota // limits what may be written; nil: no limit
	Marks Marks  // of shared files with untrusted text; nil: all are trusted

	replacing [64]sync.Mutex // by a hash of the path
}

// replacingOf is the lock to hold from looking at the version of a file until another one is in its place.
func (o *Opener) replacingOf(folder, rel string) *sync.Mutex {
	h := fnv.New32a()
	_, _ = io.WriteString(h, folder+"\x00"+rel)
	return &o.replacing[h.Sum32()%uint32(len(o.replacing))]
}

// Open opens what a session sees of its agent's files.
func (o *Opener) Open(s Space) (*Files, error) {
	root, err := os.OpenRoot(s.Own)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	f := &Files{space: s, own: tree{Root: root, access: sessions.WholeWorkspace()}, opener: o, quota: o.Quota}
	if policy.CheckSpace.Skipped() {
		f.quota = nil
	}
	if s.alone() {
		return f, nil
	}
	f.own.at = path.Join(ownFolders, string(s.Session))
	if err := os.MkdirAll(filepath.Join(s.Shared, ownFolders), 0o700); err != nil { // the place of the own folders in a sandbox
		return nil, errors.Join(fmt.Errorf("make shared folder: %w", err), root.Close())
	}
	shared, err := os.OpenRoot(s.Shared)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open shared folder: %w", err), root.Close())
	}
	f.shared = tree{Root: shared, access: s.Access, shared: true}
	return f, nil
}

// Close releases the folders.
func (f *Files) Close() error {
	err := f.own.Close()
	if f.shared.Root != nil {
		err = errors.Join(err, f.shared.Close())
	}
	return err
}

// OwnFolder is the path of the session's own folder in the workspace; "" if it is the workspace.
func (f *Files) OwnFolder() string { return f.own.at }

// Folder is the folder, an absolute path, in which a command runs that no sandbox holds: it reaches all of the workspace in any case.
func (f *Files) Folder() (string, error) {
	if f.shared.Root == nil {
		return f.space.Own, nil
	}
	if part, ok := scope(f.space.Access.Write, "."); ok && part == "." {
		return f.space.Shared, nil
	}
	return "", errors.New("commands without a sandbox reach the whole workspace, and this conversation may use only parts of it: use read, write and edit")
}

// locate finds the folder that a path lies in, and the path there. Folders of other sessions are not there.
func (f *Files) locate(name string) (t tree, rel string, ok bool) {
	name, ok = clean(name)
	if !ok {
		return tree{}, "", false
	}
	if rel, own := below(name, path.Join(ownFolders, string(f.space.Session))); own {
		return f.own, rel, true
	}
	if _, reserved := below(name, ownFolders); reserved {
		return tree{}, "", false
	}
	if f.shared.Root == nil {
		return f.own, name, true
	}
	return f.shared, name, true
}

// below is a path relative to a folder that it lies in.
func below(name, folder string) (rel string, ok bool) {
	if name == folder {
		return ".", true
	}
	return strings.CutPrefix(name, folder+"/")
}

// Shared reports whether a path lies in the folder that the agent's sessions share.
func (f *Files) Shared(name string) bool {
	return f.space.Shares(name)
}

// Reading calls read, which reads a path or what is below it, and returns the label of what it may have read: [flow.Bottom] for the
// session's own files, which have the label of their session.
func (f *Files) Reading(ctx context.Context, name string, read func() error) (flow.Label, error) {
	t, rel, ok := f.locate(name)
	if !ok || !t.shared {
		return flow.Bottom(), read()
	}
	// What a stranger writes is marked before it is written, and no longer marked after it was replaced.
	before, err := f.marked(ctx, rel)
	if err != nil {
		return flow.Bottom(), err
	}
	failed := read()
	after, err := before, error(nil)
	if !before {
		after, err = f.marked(ctx, rel)
	}
	label := flow.NewLabel(f.space.SharedLevel(), flow.Trusted)
	if after {
		label = flow.NewLabel(f.space.SharedLevel(), flow.Untrusted)
	}
	return label, errors.Join(failed, err)
}

// marked reports whether a path of the shared folder may have untrusted text, or anything below it; of the whole folder, the
// parts that the session sees.
func (f *Files) marked(ctx context.Context, rel string) (bool, error) {
	if f.opener.Marks == nil {
		return false, nil
	}
	parts := []string{rel}
	if rel == "." {
		parts = f.shared.readable()
	}
	for _, p := range parts {
		p, ok := clean(p)
		if !ok {
			continue
		}
		if marked, err := f.opener.Marks.FileMarked(ctx, f.space.Agent, p, true); marked || err != nil {
			return marked, err
		}
	}
	return false, nil
}

// mayWrite refuses to write what is above the level of the files.
func (f *Files) mayWrite(t tree, label flow.Label) error {
	if t.shared && !label.FlowsTo(f.space.SharedLevel()) {
		return &WriteDownError{label.Level(), f.space.SharedLevel(), f.own.at}
	}
	return nil
}

// Mark prepares that something of a label is written to a path, or below it.
func (f *Files) mark(ctx context.Context, t tree, rel string, label flow.Label) error {
	if !t.shared || f.opener.Marks == nil || label.Trust() == flow.Trusted {
		return nil
	}
	return f.opener.Marks.MarkFile(ctx, f.space.Agent, rel)
}

// unmark notes that trusted text has replaced the whole of a file.
func (f *Files) unmark(ctx context.Context, t tree, rel string, label flow.Label) error {
	if !t.shared || f.opener.Marks == nil || label.Trust() != flow.Trusted {
		return nil
	}
	return f.opener.Marks.UnmarkFile(ctx, f.space.Agent, rel)
}
