package footprint

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMemoryIsReleasedAfterABurst(t *testing.T) {
	t.Parallel()
	const mb, calm = 1 << 20, 100 << 10
	for name, c := range map[string]struct {
		unused  uint64
		busyFor time.Duration // 2 MB are allocated each second for so long,
		calm    uint64        // then so much each second
		after   time.Duration // of the release; 0: none
	}{
		"at rest":                {100 * mb, 0, calm, time.Second},
		"when the burst is over": {100 * mb, 9 * time.Second, calm, 10 * time.Second},
		"hardly anything":        {releaseMin - 1, 0, calm, 0},
		"used again in a minute": {100 * mb, 0, 2 * mb, 0},
		"so much that it lasts":  {200 * mb, time.Hour, calm, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				now := func() memoryUse {
					passed := time.Since(began)
					busy := min(passed, c.busyFor)
					return memoryUse{uint64(busy/time.Second)*2*mb + uint64((passed-busy)/time.Second)*c.calm, c.unused}
				}
				var released []time.Duration
				collected := make(chan struct{}, 1)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					releaseAfterBursts(ctx, collected, now, func() { released = append(released, time.Since(began)) })
				}()
				collected <- struct{}{}
				<-time.After(time.Hour)
				cancel()
				<-ended
				if c.after == 0 {
					require.Empty(t, released)
					return
				}
				require.Equal(t, []time.Duration{c.after}, released)
			})
		})
	}
}

func TestMemoryNow(t *testing.T) {
	t.Parallel()
	before := memoryNow()
	require.Positive(t, before.allocated, "the runtime names the figures differently now")
	garbage := make([]byte, 32<<20)
	runtime.KeepAlive(garbage)
	require.GreaterOrEqual(t, memoryNow().allocated-before.allocated, uint64(len(garbage)))
}
