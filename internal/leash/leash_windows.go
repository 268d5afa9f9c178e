package leash

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// Leash holds a program that was started.
type Leash struct{ cmd *exec.Cmd }

// Start starts a command, which a Ctrl-C does not reach. There is no gate here.
func Start(cmd *exec.Cmd) (*Leash, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	return &Leash{cmd}, cmd.Start()
}

// Release does nothing.
func (l *Leash) Release() {}

// Wait waits for the end of the program. Processes that it has started may remain.
func (l *Leash) Wait() error { return l.cmd.Wait() }

// Terminate ends the program: Windows has no signal that asks it to.
func (l *Leash) Terminate() error { return l.cmd.Process.Kill() }

// Kill ends the program. Processes that it has started may remain.
func (l *Leash) Kill() error { return l.cmd.Process.Kill() }
