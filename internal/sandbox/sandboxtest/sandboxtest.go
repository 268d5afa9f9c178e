// Package sandboxtest helps tests that run commands in a sandbox.
package sandboxtest

import (
	"os"
	"os/exec"
	"testing"
)

// Need skips a test if bubblewrap is missing; in CI the test fails. `make test` installs it.
func Need(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err == nil {
		return
	}
	const missing = "bubblewrap is not installed: tools/testdeps installs it"
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}
