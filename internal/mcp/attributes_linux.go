package mcp

import "syscall"

// attributes gives a program its own process group, and ends the program when the gateway ends, even after a crash.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
