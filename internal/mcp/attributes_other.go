//go:build !linux

package mcp

import "syscall"

// attributes gives a program its own process group. If the gateway is killed, the program notices the end of its
// input.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
