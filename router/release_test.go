package router_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

// Neither a stop nor the move of a partition waits for work that ignores its context; what that comes to changes nothing any more.
func TestReleaseDoesNotWaitForDeafWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		free := make(chan struct{})
		b.agent.answer = func(context.Context, string, func(sessions.Event)) (string, error) {
			<-free
			return "late", nil
		}
		run := b.hear(in("ann", "1", "hi"))
		synctest.Wait()
		began := time.Now()
		b.stop()
		require.LessOrEqual(t, time.Since(began), 7*time.Second)
		other := newChat()
		rival := b.rival(t, other)
		got, err := rival.Sessions().WaitRun(t.Context(), run.Run, time.Minute)
		require.NoError(t, err)
		require.Equal(t, sessions.RunDone, got.Status)
		close(free)
		synctest.Wait()
		require.Equal(t, []string{"echo: hi"}, other.texts("ann"))
		require.Empty(t, b.chat.texts(""))
		require.Empty(t, b.deliveries(ledger.DeliveryQueued))
	})
}
