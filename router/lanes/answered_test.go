package lanes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/router/lanes"
)

// A call that has begun when its partition is released gets time to end; afterwards it is cut, as a call without an answer is.
func TestCallGetsTimeToEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		released := errors.New("released")
		for _, c := range []struct{ release, cut time.Duration }{
			{time.Second, time.Second + lanes.FinishWithin},
			{0, lanes.FinishWithin},
			{time.Hour, time.Minute},
		} {
			lane, release := context.WithCancelCause(t.Context())
			began := time.Now()
			timer := time.AfterFunc(c.release, func() { release(released) })
			call, end := lanes.UntilAnswered(lane, time.Minute)
			<-call.Done()
			require.Equal(t, c.cut, time.Since(began))
			end()
			timer.Stop()
			release(nil)
		}
		lane, release := context.WithCancelCause(t.Context())
		call, end := lanes.UntilAnswered(lane, time.Minute)
		release(released)
		synctest.Wait()
		require.NoError(t, call.Err(), "it goes on")
		end()
		require.Error(t, call.Err())
	})
}
