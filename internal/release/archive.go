package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// content is a file of an archive.
type content struct {
	name string // in the archive
	from string // on the disk
	mode fs.FileMode
}

// contents are what the archive of a target has.
func (r *release) contents(t target, binary, licences, shared string) []content {
	list := []content{
		{t.binary(), binary, 0o755},
		{"LICENSE", "LICENSE", 0o644},
		{"LICENSES", licences, 0o644},
		{"README.md", "README.md", 0o644},
		{"CHANGELOG.md", "CHANGELOG.md", 0o644},
	}
	folders := []string{"completions", "man"}
	if t.os == "linux" {
		list = append(list, content{"sluice.service", "deploy/systemd/sluice.service", 0o644})
	}
	for _, folder := range folders {
		files, _ := filepath.Glob(filepath.Join(shared, folder, "*")) // the pattern is right
		for _, f := range files {
			list = append(list, content{path.Join(folder, filepath.Base(f)), f, 0o644})
		}
	}
	slices.SortFunc(list, func(a, b content) int { return strings.Compare(a.name, b.name) })
	return list
}

// archive writes the archive of a target: a zip for Windows, else a tar.gz. Its files are in one folder.
func (r *release) archive(t target, list []content) error {
	base := "sluice_" + r.version() + "_" + t.String()
	name, write := base+".tar.gz", writeTar
	if t.os == "windows" {
		name, write = base+".zip", writeZip
	}
	return create(filepath.Join(r.out, name), func(w io.Writer) error { return write(w, base, list, r.at) })
}

// create writes a new file.
func create(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(filepath.Clean(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // it is published
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func writeTar(w io.Writer, folder string, list []content, at time.Time) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	for _, c := range list {
		data, err := os.ReadFile(c.from)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: folder + "/" + c.name, Mode: int64(c.mode), Size: int64(len(data)), ModTime: at, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(data); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}

func writeZip(w io.Writer, folder string, list []content, at time.Time) error {
	archive := zip.NewWriter(w)
	for _, c := range list {
		data, err := os.ReadFile(c.from)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: folder + "/" + c.name, Method: zip.Deflate, Modified: at}
		header.SetMode(c.mode)
		f, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := f.Write(data); err != nil {
			return err
		}
	}
	return archive.Close()
}

// sumsFile has a line for each file of the release, as sha256sum prints it.
const sumsFile = "SHA256SUMS"

// sums writes the checksums of all files.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out) // sorted
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, e := range entries {
		sum, err := sumOf(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, e.Name())
	}
	return create(filepath.Join(r.out, sumsFile), func(w io.Writer) error {
		_, err := io.WriteString(w, text.String())
		return err
	})
}

func sumOf(name string) (string, error) {
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}

// installer adds install.sh with the version that it installs.
func (r *release) installer() error {
	text, err := os.ReadFile("deploy/install.sh")
	if err != nil {
		return err
	}
	const unset = `version="${SLUICE_VERSION:-}"`
	if strings.Count(string(text), unset) != 1 {
		return fmt.Errorf("deploy/install.sh: the line %s is missing", unset)
	}
	released := strings.Replace(string(text), unset, `version="${SLUICE_VERSION:-`+r.version()+`}"`, 1)
	return os.WriteFile(filepath.Join(r.out, "install.sh"), []byte(released), 0o755) //nolint:gosec // it is published
}
