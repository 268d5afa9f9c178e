package skill_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/hostos"
	"sluice/internal/skill"
)

// What is read and run is what was checked: a file that has changed after the check is refused, even with the same size and time.
func TestAFileThatChangesAfterTheCheck(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, path string){
		"other content": func(t *testing.T, path string) {
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, []byte("echo evil"), 0o600))
			require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
		},
		"more content": func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte("echo good; rm x"), 0o600))
		},
		"less content": func(t *testing.T, path string) { require.NoError(t, os.WriteFile(path, nil, 0o600)) },
		"a link": func(t *testing.T, path string) {
			same := filepath.Join(t.TempDir(), "x")
			require.NoError(t, os.WriteFile(same, []byte("echo good"), 0o600))
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Symlink(same, path))
		},
		"a folder": func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o700))
		},
		"nothing": func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
		"another skill": func(t *testing.T, path string) {
			folder := filepath.Dir(path)
			require.NoError(t, os.Rename(folder, folder+"-old"))
			require.NoError(t, os.Symlink(folder+"-old", folder))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			e, err := d.add(skill.Addition{Archive: tarOf(t, file{name: "SKILL.md", content: plain}, file{name: "x.sh", content: "echo good"})})
			require.NoError(t, err)
			got, err := d.Text(d.Agent, e, "x.sh")
			require.NoError(t, err)
			require.Equal(t, "echo good", string(got))
			change(t, filepath.Join(skill.Folder(d.Workspace), "pdf", "x.sh"))
			_, err = d.Text(d.Agent, e, "x.sh")
			require.Error(t, err)
			require.NotContains(t, err.Error(), d.Workspace)
			_, err = d.Copy(d.Agent, e)
			require.Error(t, err)
		})
	}
}

// The copy that runs stays as it was checked, whatever happens to the skill.
func TestTheCopyOfASkill(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	e, err := d.add(skill.Addition{Archive: tarOf(t, file{name: "SKILL.md", content: plain}, file{name: "a/b/x.sh", content: "echo good"})})
	require.NoError(t, err)
	folder, err := d.Copy(d.Agent, e)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	require.NoError(t, os.WriteFile(filepath.Join(skill.Folder(d.Workspace), "pdf", "a/b/x.sh"), []byte("echo evil"), 0o600))
	content, err := skill.Read(folder)
	require.NoError(t, err)
	require.Equal(t, e.Digest, content.Digest)
	info, err := os.Stat(folder)
	require.NoError(t, err)
	require.False(t, hostos.OthersMayRead(info))
}

// A folder of skills that is a link may lead to where sessions write: nothing is read or written through it.
func TestAFolderOfSkillsThatIsALink(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	files := filepath.Join(d.Workspace, "files")
	planted := filepath.Join(files, "pdf", "SKILL.md")
	require.NoError(t, os.MkdirAll(filepath.Dir(planted), 0o700))
	require.NoError(t, os.WriteFile(planted, []byte(plain), 0o600))
	require.NoError(t, os.Symlink("files", skill.Folder(d.Workspace)))
	require.False(t, d.Has(d.Workspace))
	require.ErrorContains(t, skill.CheckFolder(d.Workspace), "it is a link or a file, and must be a folder")
	_, err := d.List(t.Context(), d.Agent)
	require.ErrorIs(t, err, skill.ErrRefused)
	_, err = d.Get(t.Context(), d.Agent, "pdf")
	require.ErrorIs(t, err, skill.ErrRefused)
	_, err = d.add(skill.Addition{Archive: tarOf(t, file{name: "SKILL.md", content: document("other", "x", "")})})
	require.ErrorIs(t, err, skill.ErrRefused)
	require.ErrorIs(t, d.Remove(t.Context(), d.Agent, "pdf", "operator"), skill.ErrRefused)
	left, err := os.ReadDir(files)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.FileExists(t, planted)

	require.NoError(t, os.Remove(skill.Folder(d.Workspace)))
	require.NoError(t, skill.CheckFolder(d.Workspace))
	require.NoError(t, skill.CheckFolder(""))
}
