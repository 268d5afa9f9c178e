package skill_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/skill"
	"sluice/policy/flow"
	"sluice/sessions"
)

// pins keeps pins in memory.
type pins struct {
	all   []skill.Pin
	audit []string
}

func (p *pins) SkillPins(_ context.Context, agent string) ([]skill.Pin, error) {
	return slices.DeleteFunc(slices.Clone(p.all), func(pin skill.Pin) bool { return pin.Agent != agent }), nil
}

func (p *pins) PinSkill(ctx context.Context, pin skill.Pin, audit sessions.AuditEntry) error {
	_ = p.UnpinSkill(ctx, pin.Agent, pin.Name, audit)
	p.all = append(p.all, pin)
	return nil
}

func (p *pins) UnpinSkill(_ context.Context, agent, name string, audit sessions.AuditEntry) error {
	p.audit = append(p.audit, audit.Action)
	p.all = slices.DeleteFunc(p.all, func(pin skill.Pin) bool { return pin.Agent == agent && pin.Name == name })
	return nil
}

// desk is a keeper with an agent.
type desk struct {
	*skill.Keeper
	skill.Agent
	pins     *pins
	settings skill.Settings
	t        *testing.T
}

func newDesk(t *testing.T) *desk {
	d := &desk{pins: &pins{}, Agent: skill.Agent{ID: "main", Workspace: t.TempDir()}, t: t}
	d.Keeper = &skill.Keeper{Pins: d.pins, Settings: func() skill.Settings { return d.settings }, Now: time.Now}
	return d
}

func (d *desk) add(a skill.Addition) (skill.Entry, error) {
	return d.Add(d.t.Context(), d.Agent, a)
}

func (d *desk) only() skill.Entry {
	d.t.Helper()
	entries, err := d.List(d.t.Context(), d.Agent)
	require.NoError(d.t, err)
	require.Len(d.t, entries, 1)
	return entries[0]
}

func document(name, description, text string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n" + text
}

var plain = document("pdf", "Fills forms.", "Use fill.sh.")

// file is an entry of an archive.
type file struct {
	name, content string
	kind          byte // of a tar archive; 0: a regular file
}

func tarOf(t *testing.T, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: 0o777, Size: int64(len(f.content)), Typeflag: tar.TypeReg}
		if f.kind != 0 {
			h.Typeflag, h.Linkname, h.Size = f.kind, f.content, 0
		}
		require.NoError(t, w.WriteHeader(h))
		if f.kind == 0 {
			_, err := w.Write([]byte(f.content))
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	require.NoError(t, packed.Close())
	return out.Bytes()
}

func zipOf(t *testing.T, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		if f.kind != 0 {
			h.SetMode(os.ModeSymlink | 0o777)
		}
		to, err := w.CreateHeader(h)
		require.NoError(t, err)
		_, err = to.Write([]byte(f.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestParse(t *testing.T) {
	t.Parallel()
	d, err := skill.Parse([]byte("\ufeff---\r\nname: pdf-forms\r\ndescription: |\r\n  Fills\r\n  forms.\u202e\r\nlicense: MIT\r\ntrusted: true\r\n---\r\n\r\n# Text\r\n"))
	require.NoError(t, err)
	require.Equal(t, skill.Document{Name: "pdf-forms", Description: `Fills forms.\u202e`, Text: "# Text"}, d)
	for want, content := range map[string]string{
		"does not begin with front matter": "# pdf",
		"does not end with a line":         "---\nname: pdf\n",
		"name is missing":                  "---\ndescription: x\n---\n",
		"description is missing":           "---\nname: pdf\n---\n",
		"want a-z 0-9":                     document("../pdf", "x", ""),
		"more than 1024 characters":        document("pdf", strings.Repeat("x", 1025), ""),
		"front matter: yaml":               "---\nname: [\n---\n",
		"front matter has more than":       "---\nname: pdf\nx: " + strings.Repeat("x", 17<<10) + "\n---\n",
		"has more than 65536 bytes":        document("pdf", "x", strings.Repeat("x", 65<<10)),
		"is not UTF-8 text":                document("pdf", "x", "\xff"),
	} {
		_, err := skill.Parse([]byte(content))
		require.ErrorContains(t, err, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(plain))
	f.Add([]byte("---\nname: &a [*a]\n---"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if d, err := skill.Parse(content); err == nil {
			require.NoError(t, skill.CheckName(d.Name))
			require.NotContains(t, d.Description, "\n")
		}
	})
}

func TestAddTrustChangeRemove(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	require.False(t, d.Has(d.Workspace))
	archive := zipOf(t, file{name: "pdf/SKILL.md", content: plain}, file{name: "pdf/scripts/fill.sh", content: "echo"}, file{name: "__MACOSX/x"}, file{name: "pdf/.DS_Store"})
	e, err := d.add(skill.Addition{Archive: archive, Source: "pdf.zip", By: "operator"})
	require.NoError(t, err)
	require.Equal(t, skill.OK, e.State)
	require.Equal(t, flow.NewLabel(flow.Public, flow.Untrusted), e.Label)
	require.Len(t, e.Files, 2)
	require.True(t, d.Has(d.Workspace))
	again, err := skill.Read(filepath.Join(skill.Folder(d.Workspace), "pdf"))
	require.NoError(t, err)
	require.Equal(t, e.Digest, again.Digest)
	_, err = d.add(skill.Addition{Archive: archive})
	require.ErrorIs(t, err, skill.ErrExists)

	_, err = d.Trust(t.Context(), d.Agent, "pdf", flow.NewLabel(flow.Internal, flow.Trusted), "sha256:another", "operator")
	require.ErrorIs(t, err, skill.ErrRefused)
	_, err = d.Trust(t.Context(), d.Agent, "pdf", flow.NewLabel(flow.Internal, flow.Trusted), e.Digest, "operator")
	require.NoError(t, err)
	require.Equal(t, flow.NewLabel(flow.Internal, flow.Trusted), d.only().Label)

	script := filepath.Join(skill.Folder(d.Workspace), "pdf/scripts/fill.sh")
	require.NoError(t, os.WriteFile(script, []byte("rm -rf"), 0o600))
	require.Equal(t, skill.Changed, d.only().State)
	require.Equal(t, flow.NewLabel(flow.Internal, flow.Untrusted), d.only().Label)
	got, err := d.Get(t.Context(), d.Agent, "pdf")
	require.NoError(t, err)
	require.False(t, got.Usable())
	e, err = d.add(skill.Addition{Archive: archive, Replace: true})
	require.NoError(t, err)
	require.Equal(t, flow.Untrusted, e.Label.Trust(), "another content, another decision")

	require.NoError(t, d.Remove(t.Context(), d.Agent, "pdf", "operator"))
	require.ErrorIs(t, d.Remove(t.Context(), d.Agent, "pdf", "operator"), skill.ErrNotFound)
	require.False(t, d.Has(d.Workspace), "an agent without skills costs nothing")
	require.Equal(t, []string{"skill.add", "skill.trust", "skill.add", "skill.remove"}, d.pins.audit)
}

// A folder that was put there by hand is untrusted, whatever it has beside it.
func TestAFolderPutThereByHand(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	folder := filepath.Join(skill.Folder(d.Workspace), "pdf")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.Equal(t, skill.Invalid, d.only().State)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "SKILL.md"), []byte(plain), 0o600))
	e := d.only()
	require.Equal(t, skill.Unpinned, e.State)
	require.Equal(t, flow.Untrusted, e.Label.Trust())
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(folder, "x")))
	require.Equal(t, skill.Invalid, d.only().State)
	require.Contains(t, d.only().Problem, "link")
	require.NoError(t, os.Remove(filepath.Join(folder, "x")))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "SKILL.md"), []byte(document("other", "x", "")), 0o600))
	require.Contains(t, d.only().Problem, `the name is "other", and the folder is "pdf"`)
	_, err := d.Trust(t.Context(), d.Agent, "pdf", flow.Bottom(), "", "operator")
	require.ErrorIs(t, err, skill.ErrRefused)
	require.NoError(t, os.Rename(folder, filepath.Join(skill.Folder(d.Workspace), "gone")))
	d.pins.all = []skill.Pin{{Agent: "main", Name: "pdf", Label: flow.Bottom()}}
	entries, err := d.List(t.Context(), d.Agent)
	require.NoError(t, err)
	require.Equal(t, skill.Missing, entries[1].State)
}

// What comes from elsewhere has the expected hash, or a signature of a key that the configuration knows.
func TestHashesAndSignatures(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	unsigned := tarOf(t, file{name: "SKILL.md", content: plain})
	_, err = d.add(skill.Addition{Archive: unsigned, Remote: true})
	sum := sha256.Sum256(unsigned)
	require.ErrorContains(t, err, "--sha256 "+hex.EncodeToString(sum[:]))
	_, err = d.add(skill.Addition{Archive: unsigned, Remote: true, SHA256: strings.Repeat("0", 64)})
	require.ErrorContains(t, err, "neither is the expected one")
	e, err := d.add(skill.Addition{Archive: unsigned, Remote: true, SHA256: hex.EncodeToString(sum[:])})
	require.NoError(t, err)
	_, err = d.add(skill.Addition{Archive: unsigned, Remote: true, Replace: true, SHA256: strings.TrimPrefix(e.Digest, "sha256:")})
	require.NoError(t, err)

	signed := tarOf(t, file{name: "SKILL.md", content: plain}, file{name: "SKILL.sig", content: skill.Sign(e.Digest, private) + "\n"})
	_, err = d.add(skill.Addition{Archive: signed, Remote: true, Replace: true})
	require.ErrorContains(t, err, "not signed with a key")
	d.settings.Keys = []skill.Key{{Name: "acme", Public: public}}
	e, err = d.add(skill.Addition{Archive: signed, Remote: true, Replace: true})
	require.NoError(t, err)
	require.Equal(t, "acme", e.Signer)
	require.Equal(t, flow.Untrusted, e.Label.Trust(), "a known signer is not yet a trusted one")
	d.settings.Keys[0].Trust = true
	require.Equal(t, flow.Trusted, d.only().Label.Trust())
	d.settings = skill.Settings{Trusted: []string{e.Digest}}
	require.Equal(t, flow.Trusted, d.only().Label.Trust())
	d.settings = skill.Settings{}
	require.Equal(t, flow.Untrusted, d.only().Label.Trust(), "trust ends with the setting")
	forged := tarOf(t, file{name: "SKILL.md", content: document("pdf", "x", "evil")}, file{name: "SKILL.sig", content: skill.Sign(e.Digest, private)})
	d.settings.Keys = []skill.Key{{Name: "acme", Public: public, Trust: true}}
	_, err = d.add(skill.Addition{Archive: forged, Remote: true, Replace: true})
	require.ErrorContains(t, err, "not signed with a key")
}

// Nothing that an archive has is written elsewhere, and nothing of a hostile one stays.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	top := file{name: "SKILL.md", content: plain}
	many := []file{top}
	for i := range 500 {
		many = append(many, file{name: fmt.Sprint(i)})
	}
	for name, c := range map[string]struct {
		archive []byte
		want    string
	}{
		"a path that leads out":         {tarOf(t, top, file{name: "../evil", content: "x"}), "leads out"},
		"the same in a ZIP":             {zipOf(t, top, file{name: "../../evil", content: "x"}), "leads out"},
		"an absolute path":              {tarOf(t, top, file{name: "/tmp/evil", content: "x"}), "absolute"},
		"a path of Windows":             {zipOf(t, top, file{name: `..\evil`, content: "x"}), "leads out"},
		"dots inside":                   {tarOf(t, top, file{name: "a/../../evil", content: "x"}), "leads out"},
		"SKILL.md that leads out":       {tarOf(t, file{name: "../SKILL.md", content: plain}), "leads out"},
		"a symbolic link":               {tarOf(t, top, file{name: "x", content: "/etc/passwd", kind: tar.TypeSymlink}), "link"},
		"a symbolic link in a ZIP":      {zipOf(t, top, file{name: "x", content: "/etc/passwd", kind: 1}), "link"},
		"a link, and a file through it": {tarOf(t, top, file{name: "d", content: "/tmp", kind: tar.TypeSymlink}, file{name: "d/evil", content: "x"}), "link"},
		"a hard link":                   {tarOf(t, top, file{name: "x", content: "/etc/passwd", kind: tar.TypeLink}), "link"},
		"a device":                      {tarOf(t, top, file{name: "x", kind: tar.TypeChar}), "special"},
		"a FIFO":                        {tarOf(t, top, file{name: "x", kind: tar.TypeFifo}), "special"},
		"SKILL.md is a link":            {tarOf(t, file{name: "SKILL.md", content: "/etc/passwd", kind: tar.TypeSymlink}), "link"},
		"a file twice":                  {tarOf(t, top, top), "twice"},
		"a file in two cases":           {tarOf(t, top, file{name: "skill.MD", content: "x"}), "twice"},
		"a file that is a folder, too":  {tarOf(t, top, file{name: "a", content: "x"}, file{name: "a/b", content: "x"}), "unpack"},
		"a file beside the folder":      {tarOf(t, file{name: "pdf/SKILL.md", content: plain}, file{name: "evil", content: "x"}), "beside"},
		"too deep":                      {tarOf(t, top, file{name: strings.Repeat("d/", 12) + "x"}), "deep"},
		"too many files":                {tarOf(t, many...), "500 files"},
		"a bomb":                        {tarOf(t, top, file{name: "zeros", content: strings.Repeat("\x00", 33<<20)}), "bytes"},
		"a bomb in a ZIP":               {zipOf(t, top, file{name: "zeros", content: strings.Repeat("\x00", 33<<20)}), "bytes"},
		"invisible characters":          {tarOf(t, top, file{name: "a\u202eb", content: "x"}), "invisible"},
		"no SKILL.md":                   {tarOf(t, file{name: "README.md", content: "x"}), "there is no SKILL.md"},
		"too deep a SKILL.md":           {tarOf(t, file{name: "a/b/SKILL.md", content: plain}), "there is no SKILL.md"},
		"not an archive":                {[]byte("hello"), "neither"},
		"a broken archive":              {zipOf(t, top)[:40], "unpack"},
		"broken compression":            {append([]byte{0x1f, 0x8b}, "xxxxxxxxxxxxxxxx"...), "unpack"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			_, err := d.add(skill.Addition{Archive: c.archive})
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), d.Workspace)
			entries, err := d.List(t.Context(), d.Agent)
			require.NoError(t, err)
			require.Empty(t, entries)
			var left []string
			require.NoError(t, filepath.WalkDir(filepath.Dir(d.Workspace), func(path string, e os.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					left = append(left, path)
				}
				return err
			}))
			require.Empty(t, left)
		})
	}
}

// A gateway that died while it added a skill has left nothing that is used.
func TestWhatADeadGatewayHasLeft(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, name := range []string{".draft-new", ".old-pdf"} {
		folder := filepath.Join(skill.Folder(d.Workspace), name)
		require.NoError(t, os.MkdirAll(folder, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "SKILL.md"), []byte(plain), 0o600))
	}
	entries, err := d.List(t.Context(), d.Agent)
	require.NoError(t, err)
	require.Empty(t, entries)
	_, err = d.add(skill.Addition{Archive: tarOf(t, file{name: "./SKILL.md", content: plain})})
	require.NoError(t, err)
	left, err := os.ReadDir(skill.Folder(d.Workspace))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// A packed folder is the same skill.
func TestPack(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "scripts"), 0o700))
	for name, content := range map[string]string{"SKILL.md": plain, "scripts/a.sh": "echo", "SKILL.sig": "x"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	content, err := skill.Read(folder)
	require.NoError(t, err)
	archive, err := skill.Pack(folder)
	require.NoError(t, err)
	d := newDesk(t)
	e, err := d.add(skill.Addition{Archive: archive})
	require.NoError(t, err)
	require.Equal(t, content.Digest, e.Digest)
	require.Equal(t, "x", e.Signature)
}
