//go:build unix

package node

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A command that takes too long is killed with what it has started.
func TestACommandEndsWithItsChildren(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	pipe, err := os.OpenFile(fifo, os.O_RDWR, 0) // it waits for no other end
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	words := []string{"sh", "-c", `exec 4>"$0"; sleep 3600 & echo up >&4; wait`, fifo}
	ended := make(chan error)
	go func() {
		_, err := Tools{Commands: [][]string{words}}.run(ctx, command{Words: words})
		ended <- err
	}()
	up := make([]byte, 3)
	_, err = io.ReadFull(pipe, up)
	require.NoError(t, err)
	reading, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, reading.Close()) })
	require.NoError(t, pipe.Close())
	cancel()
	require.Error(t, <-ended)
	require.NoError(t, reading.SetReadDeadline(time.Now().Add(time.Minute)))
	rest, err := io.ReadAll(reading)
	require.NoError(t, err)
	require.Empty(t, rest)
}
