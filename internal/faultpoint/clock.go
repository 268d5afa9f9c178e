//go:build faultpoints

package faultpoint

import (
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"
)

// looked is when the file was last read, in nanoseconds since began; ahead is the duration in it.
var (
	began  = time.Now()
	looked atomic.Int64
	ahead  atomic.Int64
)

const lookEvery = 10 * time.Millisecond

// Clock returns the machine's clock, shifted by the duration in the file that ClockEnv names.
func Clock() func() time.Time {
	path := os.Getenv(ClockEnv)
	if path == "" {
		return time.Now
	}
	return func() time.Time {
		passed := int64(time.Since(began))
		if last := looked.Load(); last == 0 || passed-last > int64(lookEvery) {
			looked.Store(passed)
			text, err := os.ReadFile(path) //nolint:gosec // the test that starts this program names it
			if err == nil {
				if d, err := time.ParseDuration(strings.TrimSpace(string(text))); err == nil {
					ahead.Store(int64(d))
				}
			}
		}
		return set(time.Now(), time.Duration(ahead.Load()))
	}
}

// set changes the wall clock of a time by whole seconds and leaves its monotonic reading alone, like a machine whose clock is set.
func set(t time.Time, by time.Duration) time.Time {
	inner := (*struct { // as package time has it: the flag, 33 bits of seconds, 30 bits of nanoseconds
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&t))
	inner.wall += uint64(int64(by/time.Second)) << 30
	return t
}
