//go:build !linux

package footprint

// UnmapProgram does nothing: only Linux is known to bring the pages back.
func UnmapProgram() error { return nil }
