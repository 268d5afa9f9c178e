//go:build !linux

package sandbox

import "time"

var withoutCalls []uint32

// bound does nothing: commands are limited only on Linux.
func bound(int, Limits, time.Duration) error { return nil }

func usageOf(int, int64) (usage, error) { return usage{}, nil }

// KernelBounds returns nothing: limits are not known here.
func KernelBounds() (memory, tasks string) { return "", "" }
