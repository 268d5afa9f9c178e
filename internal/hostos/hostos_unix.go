//go:build unix

package hostos

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// Flags of [os.OpenFile].
const (
	NonBlock  = syscall.O_NONBLOCK  // opening a FIFO does not wait for somebody at its other end
	NoFollow  = syscall.O_NOFOLLOW  // a symbolic link is an error
	Directory = syscall.O_DIRECTORY // anything but a folder is an error
)

// PrivateFiles makes all files that this process and its children create readable only for their owner.
func PrivateFiles() { syscall.Umask(0o077) }

// OthersMayRead reports whether a file's mode lets other users read or change it.
func OthersMayRead(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

// Space returns the free and the total bytes of the file system of a folder.
func Space(folder string) (free, total int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, 0, err
	}
	block := int64(s.Bsize) //nolint:unconvert // another type on other systems
	return int64(s.Bavail) * block, int64(s.Blocks) * block, nil
}

// SizeOnDisk is the space that a file uses: for a sparse file, less than its size.
func SizeOnDisk(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}

// Lock locks an open file for this process alone, or fails with [ErrLocked]. The lock ends with the process, even after
// a crash.
func Lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// Release unlocks a file from [Lock] and closes it. Closing it is not enough: a child that was forked at that moment
// has the file open, and with it the lock, until it executes its program.
func Release(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// Arrived reports whether something can be read from a connection without waiting: data, or its end. It takes nothing. known is
// false if the system can't say.
func Arrived(conn net.Conn) (arrived, known bool) {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	with, ok := conn.(syscall.Conn)
	if !ok {
		return false, false
	}
	raw, err := with.SyscallConn()
	if err != nil {
		return true, true // it is closed
	}
	arrived = true
	_ = raw.Control(func(fd uintptr) { // it does not wait for another reader, as raw.Read does
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		arrived = !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
	})
	return arrived, true
}
