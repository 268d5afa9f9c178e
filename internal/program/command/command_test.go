package command_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/agentkit"
	"sluice/internal/program"
	"sluice/internal/program/command"
	"sluice/internal/program/programtest"
	"sluice/internal/sandbox"
	"sluice/sessions"
)

// asProgram as its only argument makes this test binary the program of the suite.
const asProgram = "the-program-of-the-suite"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asProgram {
		err := agentkit.ServeStdio(context.Background(), os.Stdin, os.Stdout, func(ctx context.Context, w *agentkit.Work) (string, error) {
			return programtest.Behave(ctx, w, func(raw string) { fmt.Fprintln(os.Stdout, raw) }, func() { os.Exit(3) })
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func commands() *command.Commands {
	return command.New(command.Config{Sandbox: sandbox.New("", time.Now), Host: sandbox.Host{}, Limits: func() sandbox.Limits { return sandbox.Limits{} }})
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	programtest.Run(t, func(*testing.T) programtest.Way {
		return programtest.Way{Carrier: commands().For([]string{self, asProgram}, false), Kind: "command", Agent: "worker", OwnProcess: true, Ended: sessions.ModelCut}
	})
}

// begun starts a program in the sandbox.
func begun(t *testing.T, folder string, timeout time.Duration, argv ...string) program.Line {
	t.Helper()
	require.NoError(t, sandbox.New("", time.Now).Available(t.Context()), "bubblewrap is missing")
	line, err := commands().For(argv, true).Begin(t.Context(), program.Run{ID: "run_1", Folder: folder, Timeout: timeout})
	require.NoError(t, err)
	t.Cleanup(func() { line.Close("") })
	return line
}

// A program runs in the sandbox, in the folder of its session, for all turns of the run.
func TestInTheSandbox(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "words"), []byte("hello"), 0o600))
	line := begun(t, folder, 0, "sh", "-c", `n=0; while read -r turn; do n=$((n+1)); echo "{\"type\":\"done\",\"text\":\"$(cat words) $n $(ls /home /root 2>/dev/null | wc -l)\"}"; done`)
	for n := range 3 {
		require.NoError(t, line.Send(t.Context(), []byte(`{}`), ""))
		frame, err := line.Next(t.Context())
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`{"type":"done","text":"hello %d 0"}`, n+1), string(frame))
	}
}

// A program reads the files and folders that its command names, and does not change them.
func TestItsOwnFiles(t *testing.T) {
	t.Parallel()
	folder, other := t.TempDir(), t.TempDir()
	script := filepath.Join(folder, "agent.sh")
	require.NoError(t, os.WriteFile(script, []byte(`read -r turn; echo x 2>/dev/null >"$1/new"; echo "{\"text\":\"$(cat "$1/words") $(ls "$1") $(ls "$(dirname "$0")")\"}"`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(other, "words"), []byte("hello"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "secret"), nil, 0o600))
	line := begun(t, t.TempDir(), 0, "sh", script, other, "/")
	require.NoError(t, line.Send(t.Context(), []byte(`{}`), ""))
	frame, err := line.Next(t.Context())
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"hello words agent.sh"}`, string(frame))
}

// The end of a program says how it ended, and what it complained of.
func TestTheEndIsExplained(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"exit 3": "it exited with code 3",
		"echo 'cannot find my model' >&2; exit 1":     "it exited with code 1; it wrote: cannot find my model",
		"/no/such/program":                            "it exited with code 127",
		"head -c 600000 /dev/zero | tr '\\0' a; echo": "a line of more than",
	} {
		line := begun(t, t.TempDir(), 0, "sh", "-c", script)
		_ = line.Send(t.Context(), []byte(`{}`), "")
		_, err := line.Next(t.Context())
		require.ErrorContains(t, err, want, script)
	}
	line := begun(t, t.TempDir(), 300*time.Millisecond, "sh", "-c", "sleep 60")
	_, err := line.Next(t.Context())
	require.ErrorContains(t, err, "its time was over")
}

// Close kills a program with its children, and a program that does not read is given up.
func TestAProgramThatDoesNotRead(t *testing.T) {
	t.Parallel()
	line := begun(t, t.TempDir(), 0, "sh", "-c", "sleep 600 & sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := line.Send(ctx, []byte(strings.Repeat("a", 1<<20)), "")
	ended, ok := errors.AsType[*program.EndedError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "it did not read its standard input", ended.Why)
	line.Close("turn") // returns when all is dead
}

// Outside the sandbox, a process that the program leaves behind may keep its output open: it holds nobody up.
func TestAProcessIsLeftBehind(t *testing.T) {
	t.Parallel()
	line, err := commands().For([]string{"sh", "-c", `setsid sleep 40 & echo '{"type":"done"}'`}, false).Begin(t.Context(), program.Run{ID: "run_1"})
	require.NoError(t, err)
	frame, err := line.Next(t.Context())
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"done"}`, string(frame))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = line.Next(ctx)
	_, ended := errors.AsType[*program.EndedError](err)
	require.True(t, ended, "%v", err)
	line.Close("")
}
