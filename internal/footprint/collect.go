// Package footprint keeps the memory of the process small: how often garbage is collected, and what goes back to the system.
package footprint

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

const (
	// gcSpare is how many bytes may be allocated between two collections, however little memory is in use. Without
	// it, a gateway with little to do would collect every few messages, and a collection costs as much as several
	// messages.
	gcSpare = 48 << 20
	// gcFull is the memory in use at which gcSpare is half of it. Above it, the allowance grows with the square root
	// of the memory in use: the more sessions wait for their models, the more memory a percent stands for (see
	// docs/benchmarks.md).
	gcFull = 2 * gcSpare
	// gcPercentMin and gcPercentMax bound the percentage.
	gcPercentMin, gcPercentMax = 25, 400
)

// Starting makes collections rare while the process starts: little of what a start allocates stays in use.
func Starting() { debug.SetGCPercent(gcPercentMax) }

// collector sets, after each collection, how much may be allocated until the next one.
type collector struct {
	stopped   atomic.Bool
	percent   int           // the last one that was set; the calls come one after the other
	collected chan struct{} // gets an element after each collection
}

// marker is collected by the next collection, which calls its finalizer.
type marker struct{ _ *byte }

// CollectRarely adjusts how often garbage is collected to the memory in use, and returns memory to the system after bursts of
// work, until stop is called.
func CollectRarely() (stop func()) {
	c := &collector{percent: gcPercentMax, collected: make(chan struct{}, 1)}
	c.arm()
	ctx, cancel := context.WithCancel(context.Background())
	var releasing sync.WaitGroup
	releasing.Go(func() { releaseAfterBursts(ctx, c.collected, memoryNow, debug.FreeOSMemory) })
	return func() {
		c.stopped.Store(true)
		cancel()
		releasing.Wait()
	}
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
		select {
		case c.collected <- struct{}{}:
		default: // the previous signal is still waiting
		}
		c.arm()
	})
}

// inUse is the memory that the percentage refers to: the objects in use after the last collection, the stacks and the
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

// percentFor returns the percentage for a number of bytes in use. It changes in steps, because each change stops the
// program for a moment.
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
