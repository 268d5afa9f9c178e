package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"sluice/internal/hostos"
	"sluice/policy/flow"
	"sluice/sessions"
)

// UploadMax is the maximum size, in bytes, of a file that is written as a stream.
const UploadMax = 100 << 20

// chunkSize is how much of a stream is in memory.
const chunkSize = 256 << 10

var (
	// ErrChanged refuses to replace or delete a version of a file that is not the expected one.
	ErrChanged = errors.New("the file is not the version that the request names")
	// ErrCut is a stream that broke off.
	ErrCut = errors.New("the file did not arrive completely")
	// ErrUpload refuses a stream without an end.
	ErrUpload = fmt.Errorf("it has more than %d bytes", UploadMax)
)

// Tag names a version of a file: another version has another tag. It has no number of the disk, such as an inode's, which would
// tell how many files others make.
func Tag(info fs.FileInfo) string {
	return fmt.Sprintf("%x-%x", info.ModTime().UnixNano(), info.Size())
}

// Expect decides whether the present version of a file may be replaced; an empty tag means that there is no file. Nil: any.
type Expect func(tag string) bool

// Open opens a regular file for reading. A folder is [ErrFolder].
func (f *Files) Open(name string) (*os.File, fs.FileInfo, error) {
	at, err := f.at(name)
	if err != nil {
		return nil, nil, err
	}
	defer at.Close() //nolint:errcheck // only read from
	return at.open()
}

func (p place) open() (*os.File, fs.FileInfo, error) {
	// Without O_NONBLOCK, opening a FIFO would wait for a writer.
	file, err := p.OpenFile(p.rel, os.O_RDONLY|hostos.NonBlock, 0)
	if err != nil {
		return nil, nil, plain(err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = plain(err)
	case info.IsDir():
		err = ErrFolder
	case !info.Mode().IsRegular():
		err = sessions.ErrNotFound
	default:
		return file, info, nil
	}
	_ = file.Close() // nothing was written
	return nil, nil, err
}

// Written is the result of a write.
type Written struct {
	fs.FileInfo
	Made bool // the file is new
}

// Copy creates or replaces a file with what a stream has, at most [UploadMax] bytes, and creates its parent folders. A concurrent
// reader sees the old content or the new. If the quota refuses, the error is [ErrNoSpace]; if the present version is not the expected one,
// [ErrChanged]. Then the old file stays.
//
// The label is that of the content joined with that of the writer.
func (f *Files) Copy(ctx context.Context, name string, from io.Reader, label flow.Label, expect Expect) (w Written, err error) {
	t, rel, ok := f.locate(name)
	if !ok {
		return w, sessions.ErrNotFound
	}
	if strings.HasSuffix(name, "/") {
		return w, ErrFolder
	}
	at, err := t.open(rel, true)
	if err != nil {
		return w, err
	}
	defer at.Close() //nolint:errcheck // the file is closed by itself
	if at.rel == "." {
		return w, ErrFolder
	}
	tag, mode, err := at.present()
	if err != nil {
		return w, err
	}
	if expect != nil && !expect(tag) {
		return w, ErrChanged
	}
	if err := f.mayWrite(t, label); err != nil {
		return w, err
	}
	entries := int64(2 + strings.Count(at.rel, "/")) // at most: the file and its parent folders
	if err := f.quota.Admit(ctx, t.Name(), entries*entryCost); err != nil {
		return w, err
	}
	draft, err := at.draft(mode, from, func(n int) error { return f.quota.Admit(ctx, t.Name(), int64(n)) })
	if err != nil {
		return w, err
	}
	if err = f.replace(ctx, t, rel, at, draft, label, expect, &w); err != nil {
		return w, errors.Join(err, at.Remove(draft))
	}
	return w, nil
}

// replace puts a draft into the place of a file.
func (f *Files) replace(ctx context.Context, t tree, rel string, at place, draft string, label flow.Label, expect Expect, w *Written) error {
	lock := f.opener.replacingOf(t.Name(), rel)
	lock.Lock()
	defer lock.Unlock()
	tag, _, err := at.present()
	if err != nil {
		return err
	}
	if expect != nil && !expect(tag) {
		return ErrChanged
	}
	if err := f.mark(ctx, t, rel, label); err != nil {
		return err
	}
	if w.FileInfo, err = at.Lstat(draft); err != nil {
		return plain(err)
	}
	if err := at.Rename(draft, at.rel); err != nil {
		return plain(err)
	}
	w.Made = tag == ""
	return f.unmark(ctx, t, rel, label)
}

// present is the tag and mode of a file that may be replaced; without a file, an empty tag and the mode of a new one.
func (p place) present() (tag string, mode fs.FileMode, err error) {
	info, err := p.Lstat(p.rel)
	switch {
	case err == nil && info.IsDir():
		return "", 0, ErrFolder
	case err == nil && !info.Mode().IsRegular():
		return "", 0, sessions.ErrNotFound
	case err == nil:
		return Tag(info), info.Mode().Perm(), nil
	}
	return "", 0o600, nil
}

// draft writes a stream to a new file beside the one that it will replace.
func (p place) draft(mode fs.FileMode, from io.Reader, admit func(n int) error) (name string, err error) {
	if dir := path.Dir(p.rel); dir != "." {
		if err := p.MkdirAll(dir, 0o700); err != nil {
			return "", plain(err)
		}
	}
	name = path.Join(path.Dir(p.rel), draftPrefix+uuid.NewString())
	file, err := p.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", plain(err)
	}
	err = fill(file, from, admit)
	if closed := file.Close(); err == nil {
		err = plain(closed)
	}
	if err == nil { // the clock of a disk is coarse: two versions would have one time
		written := time.Now()
		err = plain(p.Chtimes(name, written, written))
	}
	if err != nil {
		return "", errors.Join(err, p.Remove(name))
	}
	return name, nil
}

// fill copies a stream into a file, each chunk after it was admitted.
func fill(file io.Writer, from io.Reader, admit func(n int) error) error {
	chunk := make([]byte, chunkSize)
	for sum := 0; ; {
		n, err := from.Read(chunk)
		if sum += n; sum > UploadMax {
			return ErrUpload
		}
		if n > 0 {
			if err := admit(n); err != nil {
				return err
			}
			if _, err := file.Write(chunk[:n]); err != nil {
				return plain(err)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w: %w", ErrCut, err)
		}
	}
}
