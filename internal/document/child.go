package document

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"sluice/internal/web"
)

const (
	// contentMax is the maximum size of a document, in bytes.
	contentMax = 64 << 20
	// partMax is how much of one part of a document is unpacked, and allMax how much of all parts.
	partMax = 16 << 20
	allMax  = 64 << 20
	// listMax is the maximum number of files of an archive that are listed.
	listMax = 500
	// listMark begins the output if it is a list.
	listMark = "\x01"
)

var errDamaged = errors.New("damaged")

// Main reads a document from a command's input and writes its text. It is the gateway's program inside of the sandbox.
func Main(in io.Reader, out, problems io.Writer) (exit int) {
	content, err := io.ReadAll(io.LimitReader(in, contentMax))
	if err == nil {
		w := bufio.NewWriter(&limited{out, textMax + 1})
		err = errors.Join(write(w, content), w.Flush())
	}
	switch {
	case err == nil, errors.Is(err, errEnough):
		return 0
	case errors.Is(err, ErrUnknown):
		exit = exitUnknown
	default:
		exit = exitDamaged
	}
	_, _ = fmt.Fprintln(problems, err)
	return exit
}

// errEnough ends the reading of a document whose text is long enough.
var errEnough = errors.New("the text is long enough")

// limited passes the first bytes on.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n, err := l.to.Write(p[:min(len(p), l.left)])
	l.left -= n
	if err == nil && l.left == 0 {
		err = errEnough
	}
	return n, err
}

// formatOf tells containers by their first bytes; empty for anything else.
func formatOf(content []byte) string {
	switch {
	case bytes.HasPrefix(content, []byte("PK\x03\x04")), bytes.HasPrefix(content, []byte("PK\x05\x06")):
		return "zip"
	case bytes.HasPrefix(content, []byte{0x1f, 0x8b}):
		return "gzip"
	case len(content) > 262 && string(content[257:262]) == "ustar":
		return "tar"
	}
	return ""
}

func write(w io.Writer, content []byte) error {
	switch formatOf(content) {
	case "zip":
		files, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return err
		}
		return parts{files, new(int64(allMax))}.write(w, content)
	case "gzip":
		unpacked, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			return err
		}
		return listTar(w, io.LimitReader(unpacked, allMax))
	case "tar":
		return listTar(w, bytes.NewReader(content))
	}
	_, err := io.WriteString(w, web.Text(bytes.NewReader(content)))
	return err
}

// parts are the files of a document that is a ZIP archive.
type parts struct {
	*zip.Reader
	left *int64 // how much may still be unpacked
}

// write finds out what the archive is.
func (p parts) write(w io.Writer, content []byte) error {
	switch {
	case p.has("word/document.xml"):
		return p.texts(w, word, "word/document.xml", "word/footnotes.xml", "word/endnotes.xml")
	case p.has("xl/workbook.xml"):
		return writeSheets(w, content)
	case p.has("ppt/presentation.xml"):
		return p.slides(w)
	case p.has("META-INF/container.xml"):
		return p.book(w)
	case p.has("content.xml") && p.has("mimetype"):
		return p.texts(w, openDocument, "content.xml")
	}
	return p.list(w)
}

func (p parts) has(name string) bool { return p.find(name) != nil }

func (p parts) find(name string) *zip.File {
	for _, f := range p.File {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// open opens a part. Once too much was unpacked, no part can be read.
func (p parts) open(f *zip.File) (io.ReadCloser, error) {
	if f == nil {
		return nil, errDamaged
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{&counted{r, partMax, p.left}, r}, nil
}

// counted refuses to read more than a part, and all parts together, may have.
type counted struct {
	io.Reader
	part int64
	all  *int64
}

var errTooMuch = errors.New("it unpacks to too much")

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.part -= int64(n)
	*c.all -= int64(n)
	if c.part < 0 || *c.all < 0 {
		*c.all = -1
		return 0, errTooMuch
	}
	return n, err
}

// list lists the files of an archive.
func (p parts) list(w io.Writer) error {
	l := newList(w)
	for _, f := range p.File {
		l.add(f.Name, int64(min(f.UncompressedSize64, 1<<62)), f.FileInfo().IsDir())
	}
	return l.end()
}

// listTar lists the files of a tar archive.
func listTar(w io.Writer, from io.Reader) error {
	l := newList(w)
	for archive := tar.NewReader(from); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) && l.count > 0 {
			return l.end()
		}
		if err != nil {
			if l.count == 0 {
				return ErrUnknown // one compressed file, for example
			}
			return errors.Join(l.end(), err)
		}
		l.add(header.Name, header.Size, header.Typeflag == tar.TypeDir)
	}
}

// list writes the names and sizes of files.
type list struct {
	w     io.Writer
	count int
	err   error
}

func newList(w io.Writer) *list {
	l := &list{w: w}
	_, l.err = io.WriteString(w, listMark)
	return l
}

func (l *list) add(name string, size int64, folder bool) {
	if l.count++; folder || l.count > listMax || l.err != nil {
		return
	}
	_, l.err = fmt.Fprintf(l.w, "%s (%s)\n", strings.ToValidUTF8(strings.Map(printable, name), "?"), humanize.IBytes(uint64(max(size, 0))))
}

func (l *list) end() error {
	if l.count > listMax && l.err == nil {
		_, l.err = fmt.Fprintf(l.w, "and %d more\n", l.count-listMax)
	}
	return l.err
}

// printable keeps a name on its line.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return '?'
	}
	return r
}
