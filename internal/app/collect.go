package app

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

const (
	// gcSpare is how many bytes may be allocated between two collections however little is in use: a gateway with
	// little to do would else collect every few messages, and a collection costs as much as several messages.
	gcSpare = 48 << 20
	// gcFull is how much is in use where that is half of it. From there on what may be allocated grows with the square root of
	// what is in use: the more sessions wait for their models, the more a percent of their memory is (see docs/benchmarks.md).
	gcFull = 2 * gcSpare
	// gcPercentMin and gcPercentMax bound the percentage.
	gcPercentMin, gcPercentMax = 25, 400
)

// collector sets after each collection how much may be allocated until the next one.
type collector struct {
	stopped atomic.Bool
	percent int // that was set last; each collection's call comes after the one before
}

// marker is collected by the next collection, which calls its finalizer.
type marker struct{ _ *byte }

// collectRarely begins to set the percentage. The function that it gives ends that.
func collectRarely() (stop func()) {
	c := &collector{percent: gcPercentMax}
	c.arm()
	return func() { c.stopped.Store(true) }
}

func (c *collector) arm() {
	runtime.SetFinalizer(&marker{}, func(*marker) {
		if c.stopped.Load() {
			return
		}
		if percent := percentFor(inUse()); percent != c.percent {
			c.percent = percent
			debug.SetGCPercent(percent)
		}
		c.arm()
	})
}

// inUse is the memory that the percentage counts from: the objects in use after the last collection, the stacks and the
// global variables.
func inUse() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	var sum uint64
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return sum
}

// percentFor is the percentage for so many bytes in use. It comes in steps, as each change stops the program for a moment.
func percentFor(used uint64) int {
	const step = 5
	if used == 0 {
		return gcPercentMax
	}
	spare := float64(gcSpare)
	if used > gcFull {
		spare *= math.Sqrt(float64(used) / gcFull)
	}
	percent := int(spare*100/float64(used)) / step * step
	return min(max(percent, gcPercentMin), gcPercentMax)
}
