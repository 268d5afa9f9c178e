//go:build !linux

package mcp

import "syscall"

// attributes give a program a process group of its own. That the gateway was killed it sees by the end of its input.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
