package mcp

import (
	"os/exec"
	"syscall"
)

// endWithGateway ends the program when the gateway ends, even after a crash.
func endWithGateway(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
