package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sluice/internal/sandbox"
)

// keysArg makes this program a command in the sandbox.
const keysArg = "use-keys"

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

// Memory that no process has mapped would not be counted. The program is built without the race detector, which would take more
// memory than the limit allows.
func TestMemoryOutsideOfProcessesIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	said, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "hoard"), "./testdata/hoard").CombinedOutput()
	require.NoError(t, err, string(said))
	result := sh(t, sandbox.Config{Workspace: dir, Limits: sandbox.Limits{Memory: 256 << 20}}, "./hoard; true")
	require.Equal(t, "function not implemented\n", result.Stdout, "%+v", result)
}
