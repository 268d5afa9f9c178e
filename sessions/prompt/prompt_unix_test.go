//go:build unix

package prompt_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions/prompt"
)

// Reading does not wait for a writer.
func TestInstructionsInAFIFO(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "AGENT.md"), 0o600))
	file, text, err := prompt.ReadInstructions(dir)
	require.Equal(t, "AGENT.md", file)
	require.Empty(t, text)
	require.ErrorContains(t, err, "AGENT.md: ")
	require.ErrorContains(t, err, "it is a FIFO")
}
