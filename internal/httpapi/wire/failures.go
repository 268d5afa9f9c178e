package wire

import (
	"strconv"
	"sync"
	"time"
)

const (
	failuresMax  = 20 // requests from one address in a window
	window       = time.Minute
	addressesMax = 4096 // that are remembered; the others share one count
)

// Failures counts requests that were refused, by the address that they come from. It is safe for concurrent use.
type Failures struct {
	mu    sync.Mutex
	now   func() time.Time
	since time.Time // the window's beginning
	by    map[string]int
}

// NewFailures makes Failures.
func NewFailures(now func() time.Time) *Failures { return &Failures{now: now, by: map[string]int{}} }

// Add counts a failure. If there are too many, it returns how long they count.
func (f *Failures) Add(from string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	from = f.known(from)
	f.by[from]++
	return f.wait(from, failuresMax+1)
}

// Wait returns how long the next failure of an address would be one too many; 0 if it would not.
func (f *Failures) Wait(from string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wait(f.known(from), failuresMax)
}

// known is the name under which an address is counted now.
func (f *Failures) known(from string) string {
	now := f.now()
	if past := now.Sub(f.since); past >= window || past < 0 {
		f.since = now
		clear(f.by)
	}
	if _, known := f.by[from]; !known && len(f.by) >= addressesMax {
		return ""
	}
	return from
}

// wait is the rest of the window for an address with this many failures.
func (f *Failures) wait(from string, most int) time.Duration {
	if f.by[from] < most {
		return 0
	}
	return f.since.Add(window).Sub(f.now())
}

// Seconds is a time as a Retry-After header.
func Seconds(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}
