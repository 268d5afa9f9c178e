//go:build !linux

package sandbox

// KeepFiles does nothing: inherited files are withheld from programs only on Linux.
func KeepFiles() error { return nil }
