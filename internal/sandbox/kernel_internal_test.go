//go:build linux

package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The bounds of the kernel are read from either version of control groups, and from the groups above.
func TestKernelBounds(t *testing.T) {
	t.Parallel()
	write := func(root, name, text string) {
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text+"\n"), 0o600))
	}
	two := t.TempDir()
	write(two, "system.slice/sluice.service/memory.max", "max")
	write(two, "system.slice/memory.max", "4294967296")
	write(two, "system.slice/sluice.service/pids.max", "2000")
	memory, tasks := kernelBounds("0::/system.slice/sluice.service\n", two)
	require.Equal(t, []string{"4294967296", "2000"}, []string{memory, tasks})

	one := t.TempDir()
	write(one, "memory/box/memory.limit_in_bytes", "9223372036854771712")
	write(one, "pids/box/pids.max", "max")
	memory, tasks = kernelBounds("8:pids:/box\n4:memory:/box\n", one)
	require.Equal(t, []string{"", ""}, []string{memory, tasks})

	p, ok := parseStat([]byte("12 (a) b) (c) S 3 12 9 0 -1 4 0 0 0 0 1 2 0 0 29 10 7 0 5 99 11 184\n"))
	require.True(t, ok)
	require.Equal(t, process{pid: 12, parent: 3, group: 12, threads: 7, resident: 11 * int64(os.Getpagesize())}, p)
	for _, bad := range []string{"", "12 x", "12 (a", "a (b) S 1 2 3", "x (b) S 3 12 9 0 -1 4 0 0 0 0 1 2 0 0 29 10 7 0 5 99 11 184"} {
		_, ok := parseStat([]byte(bad))
		require.False(t, ok, bad)
	}
}
