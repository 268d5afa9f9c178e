package backup

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
)

// The members of an archive.
const (
	manifestName = "manifest.json"
	sumsName     = "sums.json"
	configDir    = "config"
	databaseDir  = "database"
	filesDir     = "files"
)

// format is the version of the archive's layout.
const format = 1

// Manifest says what is in an archive.
type Manifest struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the program
	Created time.Time `json:"created"`
	Store   string    `json:"store"`  // sqlite or postgres
	Schema  int64     `json:"schema"` // the newest migration
}

// The databases.
const (
	StoreSQLite   = "sqlite"
	StorePostgres = "postgres"
)

// writer writes an archive.
type writer struct {
	tar  *tar.Writer
	ends []io.Closer
	at   time.Time
	sums map[string]string
}

func newWriter(out io.Writer, to []age.Recipient, at time.Time) (*writer, error) {
	w := &writer{at: at, sums: map[string]string{}}
	buffered := bufio.NewWriterSize(out, 1<<16)
	w.ends = append(w.ends, closer(buffered.Flush))
	next := io.Writer(buffered)
	if len(to) > 0 {
		sealed, err := age.Encrypt(next, to...)
		if err != nil {
			return nil, fmt.Errorf("encrypt: %w", err)
		}
		next, w.ends = sealed, append(w.ends, sealed)
	}
	packed, err := gzip.NewWriterLevel(next, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	w.tar = tar.NewWriter(packed)
	w.ends = append(w.ends, packed, w.tar)
	return w, nil
}

type closer func() error

func (c closer) Close() error { return c() }

// add writes a member of a known size.
func (w *writer) add(name string, mode int64, size int64, content io.Reader) error {
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: size, ModTime: w.at, Format: tar.FormatPAX}); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w.tar, sum), io.LimitReader(content, size))
	if err == nil && n < size { // a file that has become shorter meanwhile
		_, err = io.CopyN(io.MultiWriter(w.tar, sum), zeros{}, size-n)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	w.sums[name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func (w *writer) addJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return w.add(name, 0o600, int64(len(data)), strings.NewReader(string(data)))
}

// close writes the checksums, which show that the archive is complete.
func (w *writer) close() error {
	err := w.addJSON(sumsName, w.sums)
	for _, end := range slices.Backward(w.ends) {
		err = errors.Join(err, end.Close())
	}
	return err
}

// reader reads an archive and checks it.
type reader struct {
	tar      *tar.Reader
	packed   io.Reader     // from which tar reads
	file     *bufio.Reader // from which packed reads
	Manifest Manifest
	sums     map[string]string
}

// ErrEncrypted means that a key is needed.
var ErrEncrypted = errors.New("the backup is encrypted: name the file with its key (--identity)")

// open begins to read: it checks that the program can use what is in the archive.
func open(in io.Reader, with []age.Identity) (*reader, error) {
	buffered := bufio.NewReaderSize(in, 1<<16)
	head, _ := buffered.Peek(len(ageHead)) // the next read has the error
	next := buffered
	if string(head) == ageHead {
		if len(with) == 0 {
			return nil, ErrEncrypted
		}
		opened, err := age.Decrypt(buffered, with...)
		if err != nil {
			return nil, fmt.Errorf("decrypt: %w", err)
		}
		next = bufio.NewReader(opened)
	}
	packed, err := gzip.NewReader(next)
	if err != nil {
		return nil, errors.New("this is not a backup of sluice")
	}
	packed.Multistream(false)
	r := &reader{tar: tar.NewReader(packed), packed: packed, file: next, sums: map[string]string{}}
	name, content, err := r.next()
	if err != nil || name != manifestName {
		return nil, errors.New("this is not a backup of sluice")
	}
	if err := json.NewDecoder(io.LimitReader(content, 1<<20)).Decode(&r.Manifest); err != nil {
		return nil, fmt.Errorf("read %s: %w", manifestName, err)
	}
	if err := content.end(); err != nil {
		return nil, err
	}
	if r.Manifest.Format != format {
		return nil, fmt.Errorf("the backup has format %d, this program reads format %d: use version %s of sluice", r.Manifest.Format, format, r.Manifest.Version)
	}
	return r, nil
}

const ageHead = "age-encryption.org/"

// member is the content of a member while it is read.
type member struct {
	r    *reader
	name string
	mode int64
	sum  hash.Hash
}

func (m *member) Read(p []byte) (int, error) {
	n, err := m.r.tar.Read(p)
	m.sum.Write(p[:n])
	return n, err
}

// end reads the rest and remembers the checksum.
func (m *member) end() error {
	if _, err := io.Copy(io.Discard, m); err != nil {
		return cut(m.name, err)
	}
	m.r.sums[m.name] = hex.EncodeToString(m.sum.Sum(nil))
	return nil
}

func cut(name string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the backup is incomplete: use another one")
	}
	return fmt.Errorf("read %s: %w", name, err)
}

// next returns the next member. Its name stays within the archive.
func (r *reader) next() (name string, _ *member, err error) {
	header, err := r.tar.Next()
	if err != nil {
		return "", nil, err
	}
	if header.Typeflag != tar.TypeReg || path.Clean(header.Name) != header.Name || strings.HasPrefix(header.Name, "/") || strings.HasPrefix(header.Name, "../") || strings.ContainsAny(header.Name, "\\\x00") {
		return "", nil, fmt.Errorf("the backup has an unexpected entry %q", header.Name)
	}
	return header.Name, &member{r: r, name: header.Name, mode: header.Mode & 0o700, sum: sha256.New()}, nil
}

// each calls f for all members up to the checksums, and then compares those.
func (r *reader) each(f func(name string, content *member) error) error {
	for {
		name, content, err := r.next()
		if err != nil {
			return cut("the backup", err)
		}
		if name == sumsName {
			return r.verify(content)
		}
		if _, twice := r.sums[name]; twice {
			return fmt.Errorf("the backup has %s twice", name)
		}
		if err := f(name, content); err != nil {
			return err
		}
		if err := content.end(); err != nil {
			return err
		}
	}
}

func (r *reader) verify(content *member) error {
	want := map[string]string{}
	if err := json.NewDecoder(content).Decode(&want); err != nil {
		return cut(sumsName, err)
	}
	for name, sum := range want {
		if r.sums[name] != sum {
			return fmt.Errorf("%s in the backup is damaged: use another backup", name)
		}
	}
	if len(r.sums) != len(want) {
		return errors.New("the backup has entries without a checksum: use another backup")
	}
	return r.ends()
}

// ends checks that nothing follows the archive, for example a second one.
func (r *reader) ends() error {
	_, err := r.tar.Next()
	if errors.Is(err, io.EOF) {
		_, err = io.ReadFull(r.packed, make([]byte, 1))
	}
	if errors.Is(err, io.EOF) {
		_, err = r.file.ReadByte()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		return errors.New("the file has more data after the backup: use another backup")
	}
	return cut("the end of the backup", err)
}
