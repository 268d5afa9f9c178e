package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// KeepFiles makes sure that a program started from now on gets only the files that its caller passes to it.
// Go opens files that way, but what started the gateway may have left others open in it: a log, a lock, a listener.
// Call it before each start, because a library may open such a file at any time.
func KeepFiles() error {
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

// keepEach does the same file by file.
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
		// The folder's own descriptor is closed again by now.
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil && !errors.Is(err, unix.EBADF) {
			return err
		}
	}
	return nil
}
