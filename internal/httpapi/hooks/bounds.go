package hooks

import (
	"strconv"
	"sync"
	"time"
)

const (
	failuresMax  = 20 // refused requests from one address in a window
	window       = time.Minute
	addressesMax = 4096 // that are remembered; the others share one count
)

// failures counts requests for unknown hooks and unsigned ones, by address.
type failures struct {
	mu    sync.Mutex
	now   func() time.Time
	since time.Time // the window's beginning
	by    map[string]int
}

func newFailures(now func() time.Time) *failures { return &failures{now: now, by: map[string]int{}} }

// add counts a failure. If there are too many, it returns how long they count.
func (f *failures) add(from string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if past := now.Sub(f.since); past >= window || past < 0 {
		f.since = now
		clear(f.by)
	}
	if _, known := f.by[from]; !known && len(f.by) >= addressesMax {
		from = ""
	}
	if f.by[from]++; f.by[from] > failuresMax {
		return f.since.Add(window).Sub(now)
	}
	return 0
}

// seconds is a time as a Retry-After header.
func seconds(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}
