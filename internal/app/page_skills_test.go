package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The owner sees the skills of agents with what is wrong, and trusts one as it is.
func TestConsoleSkills(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "skills", "report"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "skills", "report", "SKILL.md"), []byte("---\nname: report\ndescription: "+quoted(hostile[0])+"\n---\nWrite it.\n"), 0o600))
	g := start(t, "models: { default: offline/echo }\nchannels: { webchat: { classification: RESTRICTED } }\nagents: { list: [ { id: main, workspace: "+quoted(folder)+" } ] }\n")
	b := g.console("/skills")
	b.until(`document.querySelector(".card h2")?.textContent === "report"`)
	require.Empty(t, b.obstacles())
	b.picture("skills")
	eval[bool](b, `document.querySelector(".card .acts button").click(), true`)
	b.until(`document.querySelector("[data-dialog=ask] .main")`)
	b.click("[data-dialog=ask] .main")
	b.until(`document.querySelector(".card .chip")?.dataset.status === "ok"`)
}
