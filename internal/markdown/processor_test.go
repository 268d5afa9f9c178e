//go:build !linux

package markdown_test

import "time"

// processorTime is the time that a function takes.
func processorTime(of func()) time.Duration {
	before := time.Now()
	of()
	return time.Since(before)
}
