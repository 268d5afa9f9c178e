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

// families are the kinds of sockets that a command may open: those that programs need. Each other one is a part of the
// kernel, or a way to the machine around the sandbox (AF_VSOCK), that a command has no use for.
var families = []uint32{syscall.AF_UNIX, syscall.AF_INET, syscall.AF_INET6}

// What Linux calls things in a filter, see seccomp(2).
const (
	actAllow = 0x7fff0000 // SECCOMP_RET_ALLOW
	actErrno = 0x00050000 // SECCOMP_RET_ERRNO; the error stands in the lower half

	atNumber = 0  // of the call, in struct seccomp_data
	atArch   = 4  // the calling convention
	atFirst  = 16 // the lower half of the first argument; all of archs are little-endian

	ioUringSetup = 425     // opens sockets without the calls that are looked at
	memfdSecret  = 447     // as memfd_create
	x32          = 1 << 30 // calls of another convention that shares x86-64's name
)

// archs are the calling conventions that a filter is made for, by Go's names: AUDIT_ARCH_….
var archs = map[string]uint32{"amd64": 0xc000003e, "arm64": 0xc00000b7, "riscv64": 0xc00000f3}

// socketFilter allows all calls but those that a command has to do without, and those that open sockets of other families. Another calling convention than the
// machine's own has other numbers for the same calls, so none of its calls works.
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

// errNoFilter says that there is no filter for this machine, and so no sandbox.
var errNoFilter = errors.New("the sandbox can't restrict sockets on this processor architecture (" + runtime.GOARCH + "): use amd64, arm64 or riscv64")

// openFilter gives the filter as bwrap reads it: struct sock_filter after struct sock_filter.
func openFilter() (*os.File, error) {
	arch, ok := archs[runtime.GOARCH]
	if !ok {
		return nil, errNoFilter
	}
	raw, err := bpf.Assemble(socketFilter(arch, syscall.SYS_SOCKET, syscall.SYS_SOCKETPAIR, withoutCalls))
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
