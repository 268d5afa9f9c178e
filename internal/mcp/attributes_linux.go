package mcp

import "syscall"

// attributes give a program a process group of its own, and end it with the gateway, however that ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
