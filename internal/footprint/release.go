package footprint

import (
	"context"
	"runtime/metrics"
	"time"
)

const (
	// lookEvery is how often the memory is looked at after a collection.
	lookEvery = time.Second
	// lastsFor is how long unused memory must last at the present rate before it is released: what is needed again soon
	// costs a page fault for each page.
	lastsFor = 64 * lookEvery
	// releaseMin is how much unused memory is worth the collection that a release begins with.
	releaseMin = 16 << 20
)

// memoryUse is what the runtime says about its memory, in bytes.
type memoryUse struct {
	allocated uint64 // since the start
	unused    uint64 // garbage, and free memory that the system has not got back
}

// releaseAfterBursts returns the memory that a burst of work has left behind to the system once little is allocated. The
// runtime itself would hold it for minutes. A gateway that collects no garbage causes no wake here.
func releaseAfterBursts(ctx context.Context, collected <-chan struct{}, now func() memoryUse, release func()) {
	for {
		select {
		case <-collected:
		case <-ctx.Done():
			return
		}
		if unusedForLong(ctx, now) {
			release()
		}
	}
}

// unusedForLong waits until the unused memory would last for long, or is not worth a release.
func unusedForLong(ctx context.Context, now func() memoryUse) bool {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for last := now(); ; {
		select {
		case <-look.C:
		case <-ctx.Done():
			return false
		}
		use := now()
		if use.unused < releaseMin {
			return false
		}
		if (use.allocated-last.allocated)*uint64(lastsFor/lookEvery) < use.unused {
			return true
		}
		last = use
	}
}

// memoryNow asks the runtime.
func memoryNow() memoryUse {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(samples)
	var values [4]uint64
	for i, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			values[i] = s.Value.Uint64()
		}
	}
	use := memoryUse{allocated: values[0], unused: values[1]}
	if objects, live := values[2], values[3]; objects > live {
		use.unused += objects - live
	}
	return use
}
