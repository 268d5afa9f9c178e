//go:build !linux && !windows

package leash

import "syscall"

// keepFiles does nothing: inherited files are withheld from programs only on Linux.
func keepFiles() error { return nil }

// endWithThread does nothing: only Linux kills a program with its parent. The guard does it everywhere.
func endWithThread(*syscall.SysProcAttr) {}
