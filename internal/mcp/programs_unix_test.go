//go:build unix

package mcp_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/mcp"
)

// pidOf returns the process id that a program wrote to the log.
func pidOf(t *testing.T, b *bundle) int {
	t.Helper()
	b.log.await(t, `line="process`, 1)
	found := regexp.MustCompile(`line="process (\d+)`).FindStringSubmatch(b.log.String())
	require.Len(t, found, 2)
	pid, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return pid
}

// gone reports whether a process has ended, also if its parent has not noticed yet.
func gone(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil {
		return true
	}
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || slices.Contains(strings.Fields(string(state)), "Z")
}

func TestStopWaitsForTheEndOfPrograms(t *testing.T) {
	t.Parallel()
	b := paced(t, mcp.Pace{Farewell: 10 * time.Millisecond}, program(t, "far", "silent"))
	pid := pidOf(t, b)
	b.Stop()
	require.True(t, gone(pid), "a program that does not end is killed")
	require.Equal(t, adapters.Stopped, b.States()[0].Status)
}

func TestWhatAProgramHasStartedEndsWithIt(t *testing.T) {
	t.Parallel()
	server := program(t, "far", "parent")
	alive := filepath.Join(t.TempDir(), "alive")
	require.NoError(t, syscall.Mkfifo(alive, 0o600))
	server.Env[pipeOf] = adapters.Secret(alive)
	b := start(t, server)
	pidOf(t, b) // the pipe is open at the child's end, or the child is gone already
	pipe, err := os.OpenFile(alive, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pipe.Close() })
	require.NoError(t, pipe.SetReadDeadline(time.Now().Add(patience)))
	_, err = pipe.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "the process at its other end is gone")
	b.log.await(t, "MCP server is not connected", 1)
}

// What started the gateway may have left files open in it, which no server's program is to read.
func TestAProgramInheritsNoFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("THE-SECRET"), 0o600))
	fd, err := syscall.Open(file, syscall.O_RDONLY, 0) // without O_CLOEXEC
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	server := program(t, "far", "curious")
	server.Env[fileOf] = adapters.Secret(strconv.Itoa(fd))
	b := start(t, server)
	b.log.await(t, `line="read`, 1)
	require.NotContains(t, b.log.String(), "THE-SECRET")
}
