package lanes

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// A lane looks again at once after a conflict, but not for ever; and after one good turn the count starts again.
func TestConflictsAreABoundedReasonToLookAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOwnership(t.Context(), 1, 1)
		all := New(Config{Log: slog.New(slog.DiscardHandler)})
		var turns atomic.Int32
		var good atomic.Bool
		l := &Lane{Name: "lane", owner: o, woken: make(chan struct{}, 1)}
		turn := func() (Rest, error) {
			turns.Add(1)
			if good.Swap(false) {
				return Rest{Again: true}, nil
			}
			return Rest{}, fmt.Errorf("store delivery: %w", sessions.ErrConflict)
		}
		o.wg.Go(func() { all.work(l, turn, turn) })
		synctest.Wait()
		require.EqualValues(t, conflictsMax+1, turns.Load())
		good.Store(true)
		time.Sleep(Backoff(1))
		synctest.Wait()
		require.EqualValues(t, 2*(conflictsMax+1)+1, turns.Load())
		time.Sleep(time.Hour)
		require.Less(t, turns.Load(), int32(2*(conflictsMax+1)+1+130), "one try every half a minute at last")
		o.stop(context.Background(), 0)
	})
}
