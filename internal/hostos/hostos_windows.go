package hostos

import (
	"errors"
	"io/fs"
	"net"
	"os"

	"golang.org/x/sys/windows"
)

// Flags of [os.OpenFile]: Windows has no FIFOs in its file systems, and [os.Root] opens no link that leads outside.
const (
	NonBlock  = 0
	NoFollow  = 0
	Directory = 0
)

// PrivateFiles does nothing: files inherit the access rights of their folder, which in a profile are its user's.
func PrivateFiles() {}

// OthersMayRead is false: the mode of a file does not say who may read it.
func OthersMayRead(fs.FileInfo) bool { return false }

// Space returns the free and the total bytes of the file system of a folder.
func Space(folder string) (free, total int64, err error) {
	name, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, 0, err
	}
	var available, all uint64
	if err := windows.GetDiskFreeSpaceEx(name, &available, &all, nil); err != nil {
		return 0, 0, err
	}
	return int64(available), int64(all), nil
}

// SizeOnDisk is the size of a file.
func SizeOnDisk(info fs.FileInfo) int64 { return info.Size() }

// Lock locks an open file for this process alone, or fails with [ErrLocked]. The lock ends with the process, even after
// a crash.
func Lock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		return ErrLocked
	}
	return err
}

// Release unlocks a file from [Lock] and closes it.
func Release(f *os.File) error { return f.Close() }

// Arrived never knows: Windows can't say without a read.
func Arrived(net.Conn) (arrived, known bool) { return false, false }
