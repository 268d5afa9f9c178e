package router_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// What a run has taken over is not told again, also if a clock was set back in between.
func TestHistoryIsToldOnceWhenTheClockGoesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Int64
		b := newBundle(t, func(b *bundle) { b.now = func() time.Time { return time.Now().Add(-time.Duration(back.Load())) } })
		b.hear(inGroup("g", "ann", "1", "before the change", false))
		back.Store(int64(time.Hour))
		b.hear(inGroup("g", "ann", "2", "after the change", false))
		require.Len(t, b.ended(b.hear(inGroup("g", "ann", "3", "hello", true)).Run).Input.History, 2)
		require.Empty(t, b.ended(b.hear(inGroup("g", "ann", "4", "hello again", true)).Run).Input.History)
	})
}
