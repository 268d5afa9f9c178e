//go:build !linux

package sandbox

// delegated reports whether a control group was given to the gateway: only Linux has them.
func delegated(string) bool { return false }
