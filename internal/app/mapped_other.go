//go:build !linux

package app

// unmapProgram does nothing: only Linux is known to bring the pages back.
func unmapProgram() error { return nil }
