//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/sandbox"
	"sluice/internal/sandbox/sandboxtest"
)

// runners are the ways to run a command, each with its workspace.
func runners(t *testing.T) map[string]func(c sandbox.Config, script string) (sandbox.Result, error) {
	t.Helper()
	sandboxtest.Need(t)
	dir := t.TempDir()
	return map[string]func(c sandbox.Config, script string) (sandbox.Result, error){
		"sandbox": func(c sandbox.Config, script string) (sandbox.Result, error) {
			c.Workspace = dir
			return sandbox.New("", time.Now).Run(t.Context(), c, "sh", "-c", script)
		},
		"host": func(c sandbox.Config, script string) (sandbox.Result, error) {
			c.Workspace = dir
			return sandbox.Host{}.Run(t.Context(), c, "sh", "-c", script)
		},
	}
}

// A command that uses more than it may is ended, with all that it has started, and the reason is said.
func TestLimits(t *testing.T) {
	t.Parallel()
	limits := sandbox.Limits{Memory: 256 << 20, Processes: 40, FileSize: 8 << 20}
	for where, run := range runners(t) {
		for _, c := range []struct {
			name, script, stopped, stderr string
		}{
			{"processes", `i=0; while [ $i -lt 200 ]; do sleep 60 & i=$((i+1)); done; wait`, "processes and threads: the maximum is 40 (limits.commandProcesses)", ""},
			{"memory of one", `dd if=/dev/zero of=/dev/null bs=400000000 count=1 && echo kept; echo ended`, "", ""},
			{"memory of many", `for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero bs=60000000 count=1 | sleep 60 & done; wait`, "of memory: the maximum is 256 MiB (limits.commandMemory)", ""},
			{"size of a file", `head -c 20000000 /dev/zero >` + where + `; wc -c <` + where, "", "ile size limit exceeded"},
			{"open files", `ulimit -n`, "", ""},
		} {
			t.Run(where+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				result, err := run(sandbox.Config{Limits: limits, Timeout: 50 * time.Second}, c.script)
				require.NoError(t, err)
				require.Less(t, time.Since(began), 40*time.Second)
				require.Contains(t, result.Stopped, c.stopped)
				require.Equal(t, c.stopped != "", result.Stopped != "", result.Stopped)
				require.False(t, result.TimedOut)
				require.Contains(t, result.Stderr, c.stderr)
				switch c.name {
				case "size of a file":
					require.Equal(t, "8388608", strings.TrimSpace(result.Stdout))
				case "memory of one":
					require.Equal(t, "ended", strings.TrimSpace(result.Stdout), "the kernel lets it have no more")
				case "open files":
					require.Equal(t, "1024", strings.TrimSpace(result.Stdout))
				}
			})
		}
	}
}

// What of /dev can be written is of a fixed size, and the command gets none of the gateway's files.
func TestNoMemoryByTheWayOfFiles(t *testing.T) {
	t.Parallel()
	result := sh(t, sandbox.Config{}, `head -c 200000000 /dev/zero >/dev/shm/x; stat -c %s /dev/shm/x; head -c 200000000 /dev/zero >/tmp/x; stat -c %s /tmp/x; echo x >/dev/x; ls /proc/self/fd | grep -c "^[45]$"; echo y >/dev/null && echo fine`)
	require.Contains(t, result.Stdout, "67108864\n67108864\n0\nfine\n")
	require.Contains(t, result.Stderr, "/dev/x: Read-only file system")
}

// The caller may end a command, for example because its files have become too large.
func TestACheckEndsACommand(t *testing.T) {
	t.Parallel()
	for where, run := range runners(t) {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			marker := filepath.Join(t.TempDir(), "asked")
			n := 0
			result, err := run(sandbox.Config{Check: func(context.Context) error {
				if n++; n < 3 {
					return nil
				}
				return errors.Join(errors.New("the files are too large"), os.WriteFile(marker, nil, 0o600))
			}}, `echo begun; sleep 60`)
			require.NoError(t, err)
			require.Equal(t, "the files are too large", result.Stopped)
			require.Equal(t, -1, result.ExitCode)
			require.FileExists(t, marker)
		})
	}
}
