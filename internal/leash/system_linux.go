package leash

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// endWithThread lets the kernel kill a program, though not its children, with the thread that starts it.
func endWithThread(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// keepFiles makes sure that programs started from now on get only the files that their caller passes to them. Go
// opens files that way, but the gateway may have inherited other open files: a log, a lock, a listener. It is called
// before each start, because a library may open such a file at any time.
func keepFiles() error {
	err := unix.CloseRange(firstOther, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) { // Linux before 5.11, or a filter that does not know the call
		err = keepEach()
	}
	if err != nil {
		return fmt.Errorf("keep open files from a program: %w", err)
	}
	return nil
}

// firstOther is the first file after standard input, output and error, which each start sets itself.
const firstOther = 3

// keepEach does the same, file by file.
func keepEach() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, file := range open {
		fd, err := strconv.Atoi(file.Name())
		if err != nil || fd < firstOther {
			continue
		}
		// The descriptor of the folder itself is closed by now.
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil && !errors.Is(err, unix.EBADF) {
			return err
		}
	}
	return nil
}
