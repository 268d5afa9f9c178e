// Package hostos has what differs between the operating systems that Sluice runs on, for the packages above it: flags
// of files, space on disks, locks, and the folders in which programs keep their files. It decides
// nothing.
package hostos

import (
	"errors"
	"runtime"
)

// ErrLocked means that another process has the lock.
var ErrLocked = errors.New("another process has the lock")

// Sandboxes reports whether commands can run in a sandbox on this system, and without one within limits: only on Linux.
func Sandboxes() bool { return runtime.GOOS == "linux" }
