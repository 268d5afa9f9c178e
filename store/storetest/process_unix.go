//go:build unix

package storetest

import (
	"os/exec"
	"syscall"
	"time"
)

// credential is the user of a process; nil means the user of this process.
type credential = *syscall.Credential

func credentialOf(uid, gid int) credential {
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// detach makes a command run as a user, in a session of its own.
func detach(cmd *exec.Cmd, as credential) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setsid: true}
}

func kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

// processor returns the processor time that this process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
