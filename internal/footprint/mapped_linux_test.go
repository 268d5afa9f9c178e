package footprint

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadOnlyPartsOfTheProgram(t *testing.T) {
	t.Parallel()
	maps := `00400000-01a2b000 r-xp 00000000 fe:00 1234 /opt/my sluice
01a2b000-03a00000 r--p 0162b000 fe:00 1234                               /opt/my sluice
03a00000-03b00000 rw-p 03600000 fe:00 1234                               /opt/my sluice
03b00000-03c00000 rw-p 00000000 00:00 0
7f0000000000-7f0000001000 r--p 00000000 fe:00 99                         /opt/other sluice
7f0000001000-7f0000002000 r--s 00000000 fe:00 99                         /opt/my sluice
7fff00000000-7fff00001000 r-xp 00000000 00:00 0                          [vdso]
nonsense r-xp 0 0 0 /opt/my sluice
`
	require.Equal(t, []mapping{{0x400000, 0x1a2b000}, {0x1a2b000, 0x3a00000}}, readOnly(strings.NewReader(maps), "/opt/my sluice"))
}

// The program runs on when its pages are unmapped: they come back.
func TestUnmapProgram(t *testing.T) {
	t.Parallel()
	require.NoError(t, UnmapProgram())
	require.NoError(t, UnmapProgram())
}
