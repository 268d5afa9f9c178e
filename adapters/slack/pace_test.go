package slack_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/slack"
)

func TestMessagesToOneChannelAreSpaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pacer := slack.NewPacer(time.Now)
		began := time.Now()
		for range 5 {
			require.NoError(t, pacer.Post(t.Context(), "C1"))
		}
		require.Zero(t, time.Since(began), "a burst")
		require.NoError(t, pacer.Post(t.Context(), "C1"))
		require.Equal(t, time.Second, time.Since(began))
		require.NoError(t, pacer.Post(t.Context(), "C2"))
		require.Equal(t, time.Second, time.Since(began), "another channel does not wait")
	})
}

func TestALongWaitIsTheCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pacer := slack.NewPacer(time.Now)
		results := make(chan error, 20)
		for range cap(results) {
			go func() { results <- pacer.Post(context.Background(), "C1") }()
		}
		limited := 0
		for range cap(results) {
			if err := <-results; err != nil {
				f := adapters.AsFailure(err)
				require.Equal(t, adapters.RateLimited, f.Kind)
				require.True(t, f.Certain)
				require.Greater(t, f.RetryAfter, 3*time.Second)
				limited++
			}
		}
		require.Equal(t, 20-5-3, limited, "five at once, three within the time that a call waits")
	})
}

func TestWhatSlackLimitedWaitsAsLongAsItSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pacer := slack.NewPacer(time.Now)
		pacer.Pause("C1", time.Minute)
		time.Sleep(40 * time.Second)
		f := adapters.AsFailure(pacer.Post(t.Context(), "C1"))
		require.Equal(t, adapters.RateLimited, f.Kind)
		require.Equal(t, 20*time.Second, f.RetryAfter)
		require.NoError(t, pacer.Post(t.Context(), "C2"))
		time.Sleep(20 * time.Second)
		require.NoError(t, pacer.Post(t.Context(), "C1"))
	})
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pacer := slack.NewPacer(time.Now)
		for range 5 {
			require.NoError(t, pacer.Post(t.Context(), "C1"))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		f := adapters.AsFailure(pacer.Post(ctx, "C1"))
		require.Equal(t, adapters.Transient, f.Kind)
		require.True(t, f.Certain, "no call was made")
	})
}

func TestThePacerForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pacer := slack.NewPacer(time.Now)
		for i := range 10_000 {
			require.NoError(t, pacer.Post(t.Context(), "C"+strconv.Itoa(i)))
		}
		require.LessOrEqual(t, pacer.Known(), 4096)
	})
}
