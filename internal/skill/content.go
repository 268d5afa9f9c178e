package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

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
	files, err := listed(root)
	if err != nil {
		return Content{}, err
	}
	return read(root, files)
}

// listed lists the files of a skill, by path.
func listed(root *os.Root) (files []File, err error) {
	var bytes int64
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
		if bytes += info.Size(); bytes > bytesMax {
			return fmt.Errorf("the skill has more than %d bytes", bytesMax)
		}
		if files = append(files, File{name, info.Size(), info.ModTime()}); len(files) > filesMax {
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
		switch content, err := digest(root, f, sum); {
		case err != nil:
			return Content{}, err
		case f.Path == SignatureName:
			c.Signature = strings.TrimSpace(string(content))
			continue
		case f.Path == FileName:
			if c.Document, err = Parse(content); err != nil {
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

// digest adds a file to the hash of a skill, and gives the content of those that the gateway itself reads.
func digest(root *os.Root, f File, sum hash.Hash) (content []byte, err error) {
	file, err := root.Open(f.Path)
	if err != nil {
		return nil, fmt.Errorf("read skill: %w", plainPath(err))
	}
	defer file.Close() //nolint:errcheck // only read from
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q: is no regular file any more", visible.Line(f.Path))
	}
	own := sha256.New()
	var kept strings.Builder
	to := io.Writer(own)
	if f.Path == FileName || f.Path == SignatureName {
		to = io.MultiWriter(own, &kept)
	}
	n, err := io.Copy(to, io.LimitReader(file, f.Size+1))
	if err != nil {
		return nil, fmt.Errorf("read skill: %w", plainPath(err))
	}
	if n != f.Size {
		return nil, fmt.Errorf("%q: is being changed", visible.Line(f.Path))
	}
	if f.Path != SignatureName {
		_, _ = fmt.Fprintf(sum, "%q %d %x\n", f.Path, n, own.Sum(nil)) // a hash takes everything
	}
	return []byte(kept.String()), nil
}

// Text reads a text file of a skill.
func (c Content) Text(folder, name string) ([]byte, error) {
	name = path.Clean(name)
	i := slices.IndexFunc(c.Files, func(f File) bool { return f.Path == name })
	if i < 0 {
		return nil, fmt.Errorf("file: the skill has no file %q", visible.Line(cut(name, pathMax)))
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open skill: %w", plainPath(err))
	}
	defer root.Close() //nolint:errcheck // only read from
	file, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read skill: %w", plainPath(err))
	}
	defer file.Close() //nolint:errcheck // only read from
	return io.ReadAll(io.LimitReader(file, c.Files[i].Size))
}

// plainPath removes the folders of the machine from an error.
func plainPath(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}
