package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/net/bpf"
)

// families are the kinds of sockets that a command may open: those that programs need. Every other kind exposes a
// part of the kernel, or a way around the sandbox (AF_VSOCK), that a command does not need.
var families = []uint32{syscall.AF_UNIX, syscall.AF_INET, syscall.AF_INET6}

// Linux constants for filters, see seccomp(2).
const (
	actAllow = 0x7fff0000 // SECCOMP_RET_ALLOW
	actErrno = 0x00050000 // SECCOMP_RET_ERRNO; the lower half has the error

	atNumber = 0  // number of the call, in struct seccomp_data
	atArch   = 4  // the calling convention
	atFirst  = 16 // the lower half of the first argument; all archs are little-endian

	ioUringSetup = 425     // opens sockets without the filtered calls
	memfdSecret  = 447     // as memfd_create
	x32          = 1 << 30 // calls of another convention with the same name as x86-64
)

// archs are the calling conventions with a filter, by Go's names: AUDIT_ARCH_….
var archs = map[string]uint32{"amd64": 0xc000003e, "arm64": 0xc00000b7, "riscv64": 0xc00000f3}

// socketFilter allows all calls except forbidden ones, and those that open sockets of other families. Other calling
// conventions have other numbers for the same calls, so all their calls fail.
func socketFilter(arch uint32, socket, pair uint32, without []uint32) []bpf.Instruction {
	missing, family := bpf.RetConstant{Val: actErrno | uint32(syscall.ENOSYS)}, bpf.RetConstant{Val: actErrno | uint32(syscall.EAFNOSUPPORT)}
	allow := bpf.RetConstant{Val: actAllow}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		missing,
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		missing,
	}
	for _, call := range without {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 1}, missing)
	}
	program = append(program,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: socket, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: pair, SkipTrue: 1},
		allow,
		bpf.LoadAbsolute{Off: atFirst, Size: 4},
	)
	for _, f := range families {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: f, SkipTrue: 1}, allow)
	}
	return append(program, family)
}

// errNoFilter means that there is no filter for this machine, and therefore no sandbox.
var errNoFilter = errors.New("the sandbox can't restrict sockets on this processor architecture (" + runtime.GOARCH + "): use amd64, arm64 or riscv64")

// openFilter returns the filter in the form that bwrap reads: a sequence of struct sock_filter.
func openFilter() (*os.File, error) {
	arch, ok := archs[runtime.GOARCH]
	if !ok {
		return nil, errNoFilter
	}
	raw, err := bpf.Assemble(socketFilter(arch, socketCall, socketPairCall, withoutCalls))
	if err != nil {
		return nil, fmt.Errorf("make filter: %w", err)
	}
	var data []byte
	for _, r := range raw {
		data = binary.LittleEndian.AppendUint16(data, r.Op)
		data = append(data, r.Jt, r.Jf)
		data = binary.LittleEndian.AppendUint32(data, r.K)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make filter: %w", err)
	}
	_, err = write.Write(data) // fits into the pipe
	if err := errors.Join(err, write.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("make filter: %w", err), read.Close())
	}
	return read, nil
}
