//go:build !linux

package sandbox

import "time"

// Bubblewrap, which reads the filter, exists only on Linux.
const socketCall, socketPairCall = 0, 0

var withoutCalls []uint32

// bound does nothing: commands are limited only on Linux.
func bound(int, Limits, time.Duration) error { return nil }

func usageOf(int, int64) (usage, error) { return usage{}, nil }

// KernelBounds returns nothing: limits are not known here.
func KernelBounds() (memory, tasks string) { return "", "" }
