package skill

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"sluice/internal/visible"
)

// ArchiveMax is the size of an archive with a skill, in bytes.
const ArchiveMax = 16 << 20

// errUnknown is the error of a file that is no archive.
var errUnknown = errors.New("it is neither a ZIP archive nor a tar archive (.tar, .tar.gz)")

// entry is a file of an archive.
type entry struct {
	name    string
	regular bool // neither a link nor a device
	read    io.Reader
}

// entries calls on for each file of an archive. Folders are left out.
func entries(archive []byte, on func(entry) error) error {
	switch {
	case bytes.HasPrefix(archive, []byte("PK\x03\x04")):
		return zipEntries(archive, on)
	case bytes.HasPrefix(archive, []byte{0x1f, 0x8b}):
		unpacked, err := gzip.NewReader(bytes.NewReader(archive))
		if err != nil {
			return fmt.Errorf("unpack archive: %w", err)
		}
		return tarEntries(&bounded{unpacked, tarMax}, on)
	case len(archive) > 262 && string(archive[257:262]) == "ustar":
		return tarEntries(bytes.NewReader(archive), on)
	}
	return errUnknown
}

// tarMax is how much of a compressed archive is unpacked: its files, and the headers of a tar archive.
const tarMax = bytesMax + filesMax*4096

// bounded is a reader that refuses to go on beyond a number of bytes.
type bounded struct {
	from io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the archive has more than %d bytes when it is unpacked", bytesMax)
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func zipEntries(archive []byte, on func(entry) error) error {
	files, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // such a path is refused below
		return fmt.Errorf("unpack archive: %w", err)
	}
	for _, f := range files.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return fmt.Errorf("unpack %q: %w", visible.Line(f.Name), err)
		}
		err = on(entry{f.Name, f.Mode().IsRegular(), r})
		_ = r.Close() // it was only read
		if err != nil {
			return err
		}
	}
	return nil
}

func tarEntries(r io.Reader, on func(entry) error) error {
	files := tar.NewReader(r)
	for {
		h, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			return fmt.Errorf("unpack archive: %w", err)
		case h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader:
			continue
		}
		if err := on(entry{h.Name, h.Typeflag == tar.TypeReg, files}); err != nil {
			return err
		}
	}
}

// unpack writes the skill in an archive to a new folder. The skill is the archive's root, or the one folder in it. What
// would be written elsewhere, links, devices, files twice and more than a skill may have are errors, and nothing of the
// folder is to be used then.
func unpack(archive []byte, folder *os.Root, draft string) error {
	top, err := topOf(archive)
	if err != nil {
		return err
	}
	if err := folder.Mkdir(draft, 0o700); err != nil {
		return fmt.Errorf("unpack archive: %w", plainPath(err))
	}
	root, err := folder.OpenRoot(draft)
	if err != nil {
		return fmt.Errorf("unpack archive: %w", plainPath(err))
	}
	left, taken := int64(bytesMax), map[string]bool{}
	err = entries(archive, func(e entry) error {
		if ignored(e.name) {
			return nil
		}
		name, err := e.below(top)
		if err != nil {
			return err
		}
		if folded := strings.ToLower(name); taken[folded] {
			return fmt.Errorf("%q: is in the archive twice", visible.Line(name))
		} else if taken[folded] = true; len(taken) > filesMax {
			return fmt.Errorf("the skill has more than %d files", filesMax)
		}
		n, err := write(root, name, e.read, left)
		left -= n
		return err
	})
	return errors.Join(err, root.Close())
}

// below is the checked path of an entry in the skill.
func (e entry) below(top string) (string, error) {
	whole := strings.TrimPrefix(e.name, "./")
	if err := checkPath(whole); err != nil {
		return "", err
	}
	name, ok := strings.CutPrefix(whole, top)
	if !ok {
		return "", fmt.Errorf("%q: is beside the folder of the skill", visible.Line(whole))
	}
	if !e.regular {
		return "", fmt.Errorf("%q: is a link or a special file; a skill has regular files alone", visible.Line(name))
	}
	if strings.Count(name, "/") > depthMax {
		return "", fmt.Errorf("%q: folders are nested more than %d deep", visible.Line(name), depthMax)
	}
	return name, nil
}

// ignored are files that programs leave in archives by themselves.
func ignored(name string) bool {
	return strings.HasPrefix(name, "__MACOSX/") || path.Base(name) == ".DS_Store"
}

// topOf is the folder of an archive that has SKILL.md, with a slash at its end; empty for the archive's root.
func topOf(archive []byte) (top string, err error) {
	found, n := false, 0
	err = entries(archive, func(e entry) error {
		if n++; n > 4*filesMax {
			return fmt.Errorf("the archive has more than %d entries", 4*filesMax)
		}
		name := strings.TrimPrefix(e.name, "./")
		folder, file := path.Split(name)
		if file == FileName && strings.Count(folder, "/") <= 1 && (!found || len(folder) < len(top)) {
			top, found = folder, true
		}
		return nil
	})
	if err == nil && !found {
		err = errors.New("there is no " + FileName + " in the archive, neither at its root nor in its one folder")
	}
	return top, err
}

// write writes a new file of at most this many bytes.
func write(root *os.Root, name string, from io.Reader, left int64) (int64, error) {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return 0, fmt.Errorf("unpack %q: %w", visible.Line(name), plainPath(err))
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, fmt.Errorf("unpack %q: %w", visible.Line(name), plainPath(err))
	}
	n, err := io.Copy(file, io.LimitReader(from, left+1))
	if err == nil && n > left {
		err = fmt.Errorf("the skill has more than %d bytes", bytesMax)
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return n, fmt.Errorf("unpack %q: %w", visible.Line(name), plainPath(err))
	}
	return n, nil
}

// Pack makes an archive of a skill's folder. Its bytes depend on the content alone.
func Pack(folder string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open skill: %w", plainPath(err))
	}
	defer root.Close() //nolint:errcheck // only read from
	content, err := readAll(root)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	files := tar.NewWriter(packed)
	add := func(name string, text []byte) error {
		err := files.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(text)), Format: tar.FormatPAX})
		if err == nil {
			_, err = files.Write(text)
		}
		if err != nil {
			return fmt.Errorf("pack skill: %w", err)
		}
		return nil
	}
	for _, f := range content.Files {
		text, err := f.load(root)
		if err == nil {
			err = add(f.Path, text)
		}
		if err != nil {
			return nil, err
		}
	}
	if content.Signature != "" {
		if err := add(SignatureName, []byte(content.Signature)); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(files.Close(), packed.Close()); err != nil {
		return nil, fmt.Errorf("pack skill: %w", err)
	}
	if out.Len() > ArchiveMax {
		return nil, fmt.Errorf("the skill has more than %d bytes when it is packed", ArchiveMax)
	}
	return out.Bytes(), nil
}
