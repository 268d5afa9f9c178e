package document_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/document"
	"sluice/internal/sandbox"
	"sluice/internal/sandbox/sandboxtest"
)

// TestMain lets the program of the tests read documents, as the gateway's program does.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == document.Command {
		os.Exit(document.Main(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func newReader(t *testing.T) *document.Reader {
	t.Helper()
	sandboxtest.Need(t)
	program, err := os.Executable()
	require.NoError(t, err)
	return &document.Reader{Sandbox: sandbox.New("", time.Now), Program: program}
}

// made has documents that the distribution's programs make of one text.
func made(t *testing.T) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "source.md")
	require.NoError(t, os.WriteFile(source, []byte("---\ntitle: The plan\nlang: en\n---\n\n# Ships\n\nThe *Grüße* sail\non Monday.\n\n| ship | crew |\n|---|---|\n| Ada | 12 |\n| Bob | 7 |\n"), 0o600))
	run := func(name string, args ...string) {
		t.Helper()
		path, err := exec.LookPath(name)
		if err != nil && os.Getenv("CI") == "" {
			t.Skip(name + " is not installed: tools/testdeps installs it")
		}
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %s: %s", name, args, out)
	}
	for _, name := range []string{"plan.docx", "plan.odt", "plan.epub", "plan.pptx", "plan.html"} {
		run("pandoc", "-s", "-o", name, source)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plan.ps"), []byte("%!PS\n/Helvetica findfont 20 scalefont setfont 72 700 moveto (The ships sail on Monday.) show showpage\n"), 0o600))
	run("ps2pdf", "plan.ps", "plan.pdf")
	run("/usr/bin/python3", "-c", `
import openpyxl, datetime
b = openpyxl.Workbook()
s = b.active
s.title = "Ships"
s.append(["ship", "crew", "sails"])
s.append(["Grüße", 12, datetime.date(2026, 11, 30)])
s["A4"] = "below"
b.create_sheet("Empty")
b.save("plan.xlsx")`)
	run("tar", "-cf", "plan.tar", "source.md", "plan.ps")
	run("tar", "-czf", "plan.tar.gz", "source.md", "plan.ps")
	files, err := filepath.Glob(filepath.Join(dir, "plan.*"))
	require.NoError(t, err)
	all := map[string][]byte{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		all[strings.TrimPrefix(filepath.Base(file), "plan.")] = content
	}
	return all
}

func TestRealDocuments(t *testing.T) {
	t.Parallel()
	r, all := newReader(t), made(t)
	for kind, says := range map[string][]string{
		"docx": {"The plan\n", "Ships\nThe Grüße sail on Monday.\n", "ship \tcrew \t\nAda \t12 \t\n"},
		"odt":  {"The plan\n", "Ships\nThe Grüße sail on Monday.\n", "ship \tcrew \t\nAda \t12 \t\n"},
		"pptx": {"[Slide 1]\nThe plan\n", "The Grüße sail on Monday.\n", "Ada \t12 \t\n"},
		"epub": {"Ships\nThe Grüße sail on Monday.\n", "Ada | 12"},
		"html": {"Ships\nThe Grüße sail on Monday.\n", "Ada | 12"},
		"xlsx": {"[Sheet Ships]\nship\tcrew\tsails\nGrüße\t12\t", "30", "\n\nbelow\n[Sheet Empty]"},
		"pdf":  {"The ships sail on Monday."},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			mime := ""
			if kind == "html" {
				mime = "text/html"
			}
			got, err := r.Text(t.Context(), mime, all[kind])
			require.NoError(t, err)
			require.False(t, got.List)
			require.False(t, got.Cut)
			for _, text := range says {
				require.Contains(t, got.Text, text)
			}
		})
	}
	for _, kind := range []string{"tar", "tar.gz"} {
		got, err := r.Text(t.Context(), "", all[kind])
		require.NoError(t, err, kind)
		require.True(t, got.List)
		require.Regexp(t, `^source\.md \(\d+ B\)\nplan\.ps \(\d+ B\)$`, got.Text)
	}
}

// Whatever is broken, the reader ends with one of its codes.
func TestBrokenDocuments(t *testing.T) {
	t.Parallel()
	for kind, content := range made(t) {
		if kind == "pdf" || kind == "ps" {
			continue // another program reads them
		}
		for i := range 200 {
			broken := bytes.Clone(content)
			if at := len(broken) * i / 200; i%2 == 0 {
				broken = broken[:at]
			} else {
				broken[at] ^= 0x55
			}
			exit := document.Main(bytes.NewReader(broken), io.Discard, io.Discard)
			require.Contains(t, []int{0, 3, 4}, exit, "%s %d", kind, i)
		}
	}
}

// zipped is an archive of files, by name and content, in turns.
func zipped(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.HuffmanOnly) })
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		require.NoError(t, err)
		_, err = io.WriteString(w, files[i+1])
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

// A document sees nothing of the machine: its reader has no network, no files and no environment.
func TestTheReaderIsAlone(t *testing.T) {
	t.Parallel()
	var asked sandbox.Config
	r := &document.Reader{Program: "/sluice", Sandbox: fake{result: sandbox.Result{Stdout: "x"}, asked: &asked}}
	_, err := r.Text(t.Context(), "", zipped(t, "a", "b"))
	require.NoError(t, err)
	require.Equal(t, []sandbox.Mount{{}}, asked.Mounts, "an empty folder")
	require.Empty(t, asked.Workspace)
	require.False(t, asked.Network)
	require.Equal(t, []string{"/sluice"}, asked.ReadOnly)
	require.Positive(t, asked.Timeout)
	require.Positive(t, asked.Limits.Memory)
}

// fake is a sandbox with one result.
type fake struct {
	result       sandbox.Result
	missing, err error
	asked        *sandbox.Config
}

func (f fake) Available(context.Context) error { return f.missing }

func (f fake) Run(_ context.Context, c sandbox.Config, _ ...string) (sandbox.Result, error) {
	if f.asked != nil {
		*f.asked = c
	}
	return f.result, f.err
}

func TestErrorsOfReading(t *testing.T) {
	t.Parallel()
	broken := errors.New("fork: no memory")
	for name, c := range map[string]struct {
		sandbox fake
		content string
		want    error
	}{
		"no sandbox":      {fake{missing: broken}, "PK\x03\x04", document.ErrNoSandbox},
		"it can't start":  {fake{err: broken}, "PK\x03\x04", broken},
		"too long":        {fake{result: sandbox.Result{TimedOut: true, ExitCode: -1}}, "PK\x03\x04", document.ErrLimit},
		"too much memory": {fake{result: sandbox.Result{Stopped: "memory", ExitCode: -1}}, "PK\x03\x04", document.ErrLimit},
		"it has crashed":  {fake{result: sandbox.Result{ExitCode: 2, Stderr: "panic"}}, "PK\x03\x04", document.ErrDamaged},
		"unknown":         {fake{result: sandbox.Result{ExitCode: 4}}, "PK\x03\x04", document.ErrUnknown},
		"a PDF's own 4":   {fake{result: sandbox.Result{ExitCode: 4}}, "%PDF-", document.ErrDamaged},
		"no pdftotext":    {fake{result: sandbox.Result{ExitCode: 127}}, "%PDF-", document.ErrNoTool},
		"no document":     {fake{}, "text", document.ErrUnknown},
	} {
		r := &document.Reader{Program: "/sluice", Sandbox: c.sandbox}
		_, err := r.Text(t.Context(), "", []byte(c.content))
		require.ErrorIs(t, err, c.want, name)
	}
}

func FuzzMain(f *testing.F) {
	f.Add(zipped(f, "word/document.xml", "<p><t>a</t></p>"))
	f.Add(zipped(f, "content.xml", "<p>a</p>", "mimetype", ""))
	f.Add(zipped(f, "META-INF/container.xml", "<container><rootfiles><rootfile full-path=\"o\"/></rootfiles></container>", "o", "<package/>"))
	f.Add([]byte("<p>a"))
	f.Fuzz(func(t *testing.T, content []byte) {
		var out bytes.Buffer
		if exit := document.Main(bytes.NewReader(content), &out, io.Discard); exit != 0 && exit != 3 && exit != 4 {
			t.Errorf("exit %d", exit)
		}
		if out.Len() > 64<<10+1 {
			t.Errorf("%d bytes", out.Len())
		}
	})
}
