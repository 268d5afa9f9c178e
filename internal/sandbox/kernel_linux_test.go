package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sluice/internal/sandbox"
)

// keysArg and hoardArg make this program a command in the sandbox.
const (
	keysArg  = "use-keys"
	hoardArg = "hoard"
)

// useKeys puts a text into the session keyring of the kernel, which what the gateway starts shares, or prints what is there.
func useKeys(text string) {
	const describe = "sluice-test"
	if text != "" {
		_, err := unix.AddKey("user", describe, []byte(text), unix.KEY_SPEC_SESSION_KEYRING)
		fmt.Println("add:", err)
		return
	}
	id, err := unix.KeyctlSearch(unix.KEY_SPEC_SESSION_KEYRING, "user", describe, 0)
	if err != nil {
		fmt.Println("search:", err)
		return
	}
	found := make([]byte, 100)
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, found, 0)
	fmt.Println("read:", string(found[:max(0, n)]), err)
}

// hoard fills memory that belongs to no mapping of a process, and so is not counted.
func hoard() {
	for range 8 {
		fd, err := unix.MemfdCreate("hoard", 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		for range 64 {
			if _, err := syscall.Write(fd, make([]byte, 1<<20)); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	fmt.Println("hoarded")
	time.Sleep(3 * time.Second) // for the watcher, who looks every 50 ms
}

// program copies this test's program into a workspace.
func program(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "program"), text, 0o700))
	return dir
}

// Commands of two sessions share no keyring: what one puts there another could read.
func TestKeyringsAreOutOfReach(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread() // its keyring is that of what it starts; it ends with this test
	_, err := unix.KeyctlJoinSessionKeyring("sluice-test")
	require.NoError(t, err)
	dir := program(t)
	added := sh(t, sandbox.Config{Workspace: dir}, "./program "+keysArg+" THE-SECRET").Stdout
	found := sh(t, sandbox.Config{Workspace: dir}, "./program "+keysArg).Stdout
	require.NotContains(t, found, "THE-SECRET")
	require.Equal(t, "search: function not implemented\n", found)
	require.Equal(t, "add: function not implemented\n", added)
}

// Memory that no process has mapped would not be counted.
func TestMemoryOutsideOfProcessesIsRefused(t *testing.T) {
	t.Parallel()
	result := sh(t, sandbox.Config{Workspace: program(t), Limits: sandbox.Limits{Memory: 256 << 20}}, "./program "+hoardArg+"; true")
	require.NotContains(t, result.Stdout, "hoarded", result.Stopped)
	require.True(t, result.Stopped != "" || strings.Contains(result.Stdout, "not implemented"), "%+v", result)
}
