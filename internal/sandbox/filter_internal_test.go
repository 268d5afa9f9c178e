//go:build linux

package sandbox

import (
	"encoding/binary"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
)

// The filter as the kernel would run it, for each calling convention and call.
func TestSocketFilter(t *testing.T) {
	t.Parallel()
	const (
		arch, socket, pair = 0xc000003e, 41, 53
		i386               = 0x40000003
		missing            = actErrno | int(syscall.ENOSYS)
		family             = actErrno | int(syscall.EAFNOSUPPORT)
	)
	vm, err := bpf.NewVM(socketFilter(arch, socket, pair, []uint32{ioUringSetup, 250}))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		arch, call, first uint32
		want              int
	}{
		"another call":             {arch, 0, 40, actAllow},
		"unix":                     {arch, socket, syscall.AF_UNIX, actAllow},
		"pair":                     {arch, pair, syscall.AF_UNIX, actAllow},
		"internet":                 {arch, socket, syscall.AF_INET, actAllow},
		"internet 6":               {arch, socket, syscall.AF_INET6, actAllow},
		"unspecified":              {arch, socket, syscall.AF_UNSPEC, family},
		"netlink":                  {arch, socket, syscall.AF_NETLINK, family},
		"packet":                   {arch, socket, syscall.AF_PACKET, family},
		"vsock":                    {arch, socket, 40, family},
		"pair of vsock":            {arch, pair, 40, family},
		"one of a later kernel":    {arch, socket, 4711, family},
		"io_uring":                 {arch, ioUringSetup, 0, missing},
		"a call to do without":     {arch, 250, 0, missing},
		"socket by x32":            {arch, socket | x32, syscall.AF_UNIX, missing},
		"any call of i386":         {i386, 1, 0, missing},
		"no call at all":           {arch, 0xffffffff, 0, missing},
		"socket's number on i386":  {i386, 359, 40, missing},
		"socketcall's on i386":     {i386, 102, 1, missing},
		"a call of a later kernel": {arch, 470, 0, actAllow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := make([]byte, 64) // struct seccomp_data; this machine reads numbers as packets have them
			binary.BigEndian.PutUint32(data[atNumber:], c.call)
			binary.BigEndian.PutUint32(data[atArch:], c.arch)
			binary.BigEndian.PutUint32(data[atFirst:], c.first)
			got, err := vm.Run(data)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}
