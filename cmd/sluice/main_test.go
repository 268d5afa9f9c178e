package main

import (
	"bufio"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/term"

	"sluice/internal/cli"
	"sluice/internal/config"
)

// asProgram makes this test's binary the program itself.
const asProgram = "SLUICE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		syscall.Umask(0o022) // as most machines have it
		main()
		return
	}
	os.Exit(m.Run())
}

// What the gateway writes is its owner's alone, whatever the machine's default, and its output has no token: something
// may collect it.
func TestStateIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	require.NoError(t, os.WriteFile(file, []byte("gateway: { listen: 127.0.0.1:0 }\nstate: "+state+"\n"), 0o600))
	require.NoError(t, os.Mkdir(state, 0o755)) // as a volume may be
	database := filepath.Join(state, "sluice.db")
	require.NoError(t, os.WriteFile(database, nil, 0o600))
	require.NoError(t, os.Chmod(database, 0o644)) // as a copy that was put back may be

	program := exec.CommandContext(t.Context(), os.Args[0], "serve", "--config", file)
	program.Env = append(os.Environ(), asProgram+"=1")
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, first, "is ready")

	open := []string{}
	require.NoError(t, filepath.WalkDir(state, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == state {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			open = append(open, info.Mode().String()+" "+strings.TrimPrefix(path, state))
		}
		return err
	}))
	require.Empty(t, open, "others can read")

	require.NoError(t, program.Process.Signal(syscall.SIGTERM))
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.NoError(t, program.Wait())
	token, err := os.ReadFile(filepath.Join(state, "token"))
	require.NoError(t, err)
	require.NotContains(t, string(rest), strings.TrimSpace(string(token)))
	require.Contains(t, string(rest), filepath.Join(state, "token"))
}

// The commands that the guide gives for a back-up leave a file that its owner alone can read.
func TestDocumentedBackupsAreTheirOwnersAlone(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(guide), "\n## Backup\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := strings.Split(section, "```sh\n")[1:]
	require.Len(t, blocks, 2, "one for each database")
	for _, block := range blocks {
		command, _, _ := strings.Cut(block, "```")
		tools, backup := t.TempDir(), t.TempDir()
		for name, script := range map[string]string{
			"sqlite3": `#!/bin/sh` + "\n" + `eval "set -- $2"; echo all >"$2"`,
			"pg_dump": `#!/bin/sh` + "\n" + `for a; do case $a in --file=*) echo all >"${a#--file=}";; esac; done`,
		} {
			require.NoError(t, os.WriteFile(filepath.Join(tools, name), []byte(script), 0o700))
		}
		shell := exec.CommandContext(t.Context(), "sh", "-c", "umask 022\n"+strings.ReplaceAll(command, "/backup/", backup+"/"))
		shell.Env = []string{"PATH=" + tools + ":" + os.Getenv("PATH"), "HOME=" + tools, "SLUICE_STORE=postgres://db/sluice"}
		said, err := shell.CombinedOutput()
		require.NoError(t, err, string(said))
		files, err := os.ReadDir(backup)
		require.NoError(t, err)
		require.Len(t, files, 1, command)
		info, err := files[0].Info()
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), command)
	}
}

// Answers that are pasted all at once show no secret: what comes ahead of its question is not echoed.
func TestPastedSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	var shown strings.Builder
	screen := struct {
		io.Reader
		io.Writer
	}{strings.NewReader("telegram\r123456:PASTED\r1001\r\r"), &shown}
	given := false
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	var out strings.Builder
	code := cli.Execute(t.Context(), cli.Deps{
		Args: []string{"init", "--config", path}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Now: time.Now,
		Loader: config.Loader{Getenv: func(string) (string, bool) { return "", false }, Home: t.TempDir(), Dir: t.TempDir()}, Terminal: true,
		Typing: func() (cli.Typing, error) {
			return typing{term.NewTerminal(screen, ""), func() error { given = true; return nil }}, nil
		},
	})
	require.Equal(t, cli.ExitDone, code, out.String()+shown.String())
	require.True(t, given, "the terminal is given back")
	require.NotContains(t, shown.String()+out.String(), "PASTED")
	require.Contains(t, shown.String(), "1001", "what is no secret is shown")
	token, err := os.ReadFile(filepath.Join(filepath.Dir(path), "sluice-secrets", "telegram-token"))
	require.NoError(t, err)
	require.Equal(t, "123456:PASTED\n", string(token))
}
