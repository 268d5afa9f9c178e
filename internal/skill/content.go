package skill

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"sluice/internal/hostos"
	"sluice/internal/visible"
)

// The bounds of a skill.
const (
	filesMax = 500
	depthMax = 8
	bytesMax = 32 << 20
	pathMax  = 240
)

// SignatureName is the file with the signature of a skill. It does not count as content.
const SignatureName = "SKILL.sig"

// File is a file of a skill.
type File struct {
	Path string // relative to the skill's folder, with slashes
	Size int64
	mod  time.Time
	mode fs.FileMode
	sum  [sha256.Size]byte // of its content when it was read
}

// Content is what is in a skill's folder.
type Content struct {
	Document
	Digest    string // of all paths and contents but the signature's, "sha256:…"
	Files     []File // by path, without the signature
	Bytes     int64
	Signature string // as SKILL.sig has it; empty for none
}

// Read reads a skill's folder. What is no regular file, such as a link, is an error.
func Read(folder string) (Content, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return Content{}, fmt.Errorf("open skill: %w", plainPath(err))
	}
	defer root.Close() //nolint:errcheck // only read from
	return readAll(root)
}

func readAll(root *os.Root) (Content, error) {
	files, err := listed(root)
	if err != nil {
		return Content{}, err
	}
	return read(root, files)
}

// listed lists the files of a skill, by path.
func listed(root *os.Root) (files []File, err error) {
	var size int64
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("read skill: %w", plainPath(err))
		}
		if d.IsDir() {
			if strings.Count(name, "/") >= depthMax {
				return fmt.Errorf("%q: folders are nested more than %d deep", visible.Line(name), depthMax)
			}
			return nil
		}
		if err := checkPath(name); err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return fmt.Errorf("read skill: %w", plainPath(err))
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%q: is a link or a special file; a skill has regular files alone", visible.Line(name))
		}
		if size += info.Size(); size > bytesMax {
			return fmt.Errorf("the skill has more than %d bytes", bytesMax)
		}
		if files = append(files, File{Path: name, Size: info.Size(), mod: info.ModTime(), mode: info.Mode()}); len(files) > filesMax {
			return fmt.Errorf("the skill has more than %d files", filesMax)
		}
		return nil
	})
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, err
}

// checkPath says what is wrong with the path of a file in a skill.
func checkPath(name string) error {
	switch {
	case len(name) > pathMax:
		return fmt.Errorf("%q: the path has more than %d bytes", visible.Line(cut(name, nameMax)), pathMax)
	case !fs.ValidPath(name) || name == ".", strings.ContainsAny(name, `\:*?"<>|`):
		return fmt.Errorf("%q: the path is absolute, leads out of the skill or has one of \\ : * ? \" < > |", visible.Line(name))
	case strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0:
		return fmt.Errorf("%q: the path has invisible characters", visible.Line(name))
	}
	return nil
}

func read(root *os.Root, files []File) (Content, error) {
	var c Content
	sum := sha256.New()
	for _, f := range files {
		own := sha256.New()
		var kept bytes.Buffer
		to := io.Writer(own)
		if f.Path == FileName || f.Path == SignatureName { // the gateway itself reads them
			to = io.MultiWriter(own, &kept)
		}
		if err := f.copy(root, to); err != nil {
			return Content{}, err
		}
		own.Sum(f.sum[:0])
		if f.Path == SignatureName {
			c.Signature = strings.TrimSpace(kept.String())
			continue
		}
		_, _ = fmt.Fprintf(sum, "%q %d %x\n", f.Path, f.Size, f.sum) // writing to a hash never fails
		if f.Path == FileName {
			var err error
			if c.Document, err = Parse(kept.Bytes()); err != nil {
				return Content{}, err
			}
		}
		c.Files = append(c.Files, f)
		c.Bytes += f.Size
	}
	if c.Name == "" {
		return Content{}, errors.New("there is no " + FileName)
	}
	c.Digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return c, nil
}

// copy copies a file. It is an error if the file is no longer a regular file of the same size.
func (f File) copy(root *os.Root, to io.Writer) error {
	file, err := root.OpenFile(f.Path, os.O_RDONLY|hostos.NonBlock, 0) // a FIFO does not block
	if err != nil {
		return fmt.Errorf("read skill: %w", plainPath(err))
	}
	defer file.Close() //nolint:errcheck // only read from
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("%q: is no longer a regular file", visible.Line(f.Path))
	}
	n, err := io.Copy(to, io.LimitReader(file, f.Size+1))
	if err != nil {
		return fmt.Errorf("read skill: %w", plainPath(err))
	}
	if n != f.Size {
		return fmt.Errorf("%q: is being changed", visible.Line(f.Path))
	}
	return nil
}

// load reads a file. It is an error if the file has changed since its skill was read.
func (f File) load(root *os.Root) ([]byte, error) {
	var content bytes.Buffer
	if err := f.copy(root, &content); err != nil {
		return nil, err
	}
	if sha256.Sum256(content.Bytes()) != f.sum {
		return nil, fmt.Errorf("%q: has changed since its skill was checked", visible.Line(f.Path))
	}
	return content.Bytes(), nil
}

// file is a file of a skill.
func (c Content) file(name string) (File, error) {
	name = path.Clean(name)
	i := slices.IndexFunc(c.Files, func(f File) bool { return f.Path == name })
	if i < 0 {
		return File{}, fmt.Errorf("file: the skill has no file %q", visible.Line(cut(name, pathMax)))
	}
	return c.Files[i], nil
}

// copyTo writes the files of a skill to an empty folder.
func (c Content) copyTo(root *os.Root, folder string) error {
	to, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("copy skill: %w", plainPath(err))
	}
	defer to.Close() //nolint:errcheck // the files are closed
	for _, f := range c.Files {
		content, err := f.load(root)
		if err != nil {
			return err
		}
		if err := errors.Join(to.MkdirAll(path.Dir(f.Path), 0o700), to.WriteFile(f.Path, content, f.mode.Perm()&0o100|0o600)); err != nil {
			return fmt.Errorf("copy skill: %w", plainPath(err))
		}
	}
	return nil
}

// plainPath removes the folders of the machine from an error.
func plainPath(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}
