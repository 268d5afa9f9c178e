//go:build !linux

package sandbox

import "time"

var withoutCalls []uint32

// bound does nothing: what a command uses is bounded on Linux alone.
func bound(int, Limits, time.Duration) error { return nil }

func usageOf(int, int64) (usage, error) { return usage{}, nil }

// KernelBounds are not known here.
func KernelBounds() (memory, tasks string) { return "", "" }
