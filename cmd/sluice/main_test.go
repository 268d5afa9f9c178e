//go:build unix

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

// A backup is readable only by its owner, whatever the machine's default, and can be restored.
func TestBackupsAreTheirOwnersAlone(t *testing.T) {
	t.Parallel()
	state, backups := filepath.Join(t.TempDir(), "state"), t.TempDir()
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	require.NoError(t, os.WriteFile(file, []byte("gateway: { listen: 127.0.0.1:0 }\nstate: "+state+"\n"), 0o600))
	program := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "--config", file)...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, string(said))
		return string(said)
	}
	require.JSONEq(t, `{"created":true,"applied":[],"took_ms":0}`, program("migrate", "--json"))
	require.JSONEq(t, `{"created":false,"applied":[],"took_ms":0}`, program("migrate", "--json"))
	require.Equal(t, "The schema of the database is up to date.\n", program("migrate"))
	program("backup", "--to", backups)
	files, err := os.ReadDir(backups)
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := files[0].Info()
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	require.Contains(t, program("restore", backups, "--replace"), "Restored to "+state)
	restored, err := os.Stat(filepath.Join(state, "sluice.db"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), restored.Mode().Perm())
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
