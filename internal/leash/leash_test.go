//go:build unix

package leash_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/internal/leash"
)

// howEnv makes this program a gateway that is killed: at the gate of its program, while that runs, or without a shell for gate and guard.
const howEnv, atGate, running, alone = "SLUICE_TEST_LEASH", "at the gate", "running", "without a shell"

const (
	// family says that it runs, and holds the first extra file open in three processes.
	family = `echo begun >&4; sleep 3600 & (sleep 3600; true) & wait`
	// single does it in one.
	single = `echo begun >&4; exec /bin/sleep 3600`
)

func TestMain(m *testing.M) {
	if how := os.Getenv(howEnv); how != "" {
		cmd := exec.Command("/bin/sh", "-c", family)
		if how == alone {
			cmd = exec.Command("/bin/sh", "-c", single)
			if err := os.Unsetenv("PATH"); err != nil {
				panic(err)
			}
		}
		cmd.ExtraFiles = []*os.File{os.NewFile(3, "pipe")}
		held, err := leash.Start(cmd)
		if err == nil && how != atGate {
			held.Release()
		}
		fmt.Println("started", err)
		select {}
	}
	goleak.VerifyTestMain(m)
}

// Nothing outlives a gateway that was killed, and what was at the gate does not begin.
func TestEndsWithTheGateway(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{atGate: "", running: "begun\n", alone: "begun\n"} {
		if how == alone && runtime.GOOS != "linux" {
			continue // only there, the system itself ends the program
		}
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			held, holds, err := os.Pipe()
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, held.Close()) })
			gateway := exec.CommandContext(t.Context(), os.Args[0])
			gateway.Env, gateway.ExtraFiles = append(os.Environ(), howEnv+"="+how), []*os.File{holds}
			out, err := gateway.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, gateway.Start())
			require.NoError(t, holds.Close())
			started, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "started <nil>\n", started)
			require.NoError(t, held.SetReadDeadline(time.Now().Add(time.Minute)))
			said := make([]byte, len(want))
			_, err = io.ReadFull(held, said)
			require.NoError(t, err)
			require.Equal(t, want, string(said))
			require.NoError(t, gateway.Process.Kill())
			require.Error(t, gateway.Wait())
			rest, err := io.ReadAll(held) // its end is the end of all that hold it
			require.NoError(t, err)
			require.Empty(t, rest)
		})
	}
}

// A program gets its own files, from First on, its own environment, and a session of its own; what it leaves behind is killed.
func TestProgram(t *testing.T) {
	t.Parallel()
	held, holds, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, held.Close()) })
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `echo "$1 $A" >&4; ls /dev/fd | tr '\n' ' ' >&4; sleep 3600 & exit 3`, "name", "an argument")
	cmd.Env, cmd.ExtraFiles = []string{"A=b", "PATH=" + os.Getenv("PATH")}, []*os.File{holds}
	l, err := leash.Start(cmd)
	require.NoError(t, err)
	require.NoError(t, holds.Close())
	session, err := syscall.Getpgid(cmd.Process.Pid)
	require.NoError(t, err)
	require.Equal(t, cmd.Process.Pid, session)
	l.Release()
	require.Equal(t, 3, exitCode(t, l.Wait()))
	require.NoError(t, held.SetReadDeadline(time.Now().Add(time.Minute)))
	rest, err := io.ReadAll(held)
	require.NoError(t, err)
	require.Equal(t, "an argument b\n0 1 2 3 4 ", string(rest), "3 is the folder that ls reads")
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	return exit.ExitCode()
}

// A program that can't be started is an error of the start, as without a gate.
func TestErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text"), nil, 0o600))
	for program, want := range map[string]string{
		"no-such-program":          "executable file not found",
		filepath.Join(dir, "none"): "no such file",
		filepath.Join(dir, "text"): "permission denied",
		"./none":                   "no such file",
	} {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Dir = dir
		_, err := leash.Start(cmd)
		require.ErrorContains(t, err, want)
	}
}

// A program in the current folder is found by its relative path, whether the command names a folder or not.
func TestRelativePath(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "program"), []byte("#!/bin/sh\nexit 3\n"), 0o700))
	t.Chdir(dir)
	for _, in := range []string{"", ".", dir} {
		cmd := exec.CommandContext(t.Context(), "./program")
		cmd.Dir = in
		l, err := leash.Start(cmd)
		require.NoError(t, err, in)
		l.Release()
		require.Equal(t, 3, exitCode(t, l.Wait()), in)
	}
}
