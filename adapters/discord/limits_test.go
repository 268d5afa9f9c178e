package discord_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/adaptertest"
	"sluice/adapters/discord"
	"sluice/adapters/discord/discordtest"
)

// clock is a time that a test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// The headers say that a bucket is used up: the next call of it is not made, others are.
func TestExhaustedBucketIsNotCalled(t *testing.T) {
	t.Parallel()
	at := &clock{time.Now()}
	s := newSetup(t, discordtest.Options{}, func(c *discord.Config) { c.Now = at.Now })
	s.srv.Exhaust(discordtest.General, 50*time.Millisecond)
	_, err := s.adapter.Send(t.Context(), out(group(), "one"))
	require.NoError(t, err)

	o := out(group(), "two")
	o.DeliveryID = "dlv_2"
	_, err = s.adapter.Send(t.Context(), o)
	f := adapters.AsFailure(err)
	require.Equal(t, adapters.RateLimited, f.Kind)
	require.True(t, f.Certain)
	require.Greater(t, f.RetryAfter, time.Duration(0))
	require.LessOrEqual(t, f.RetryAfter, 50*time.Millisecond)
	require.Len(t, s.srv.Calls("/messages"), 1)

	_, err = s.adapter.Send(t.Context(), out(direct(ada), "elsewhere"))
	require.NoError(t, err)
	at.now = at.now.Add(f.RetryAfter)
	require.NoError(t, s.srv.WaitFree(t.Context(), discordtest.General))
	_, err = s.adapter.Send(t.Context(), o)
	require.NoError(t, err)
}

// 429 with Discord's pause: told, remembered, and not slept through as the library does.
func TestLimitOfAChannel(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.srv.Fault(adaptertest.Fault{Kind: adaptertest.RateLimited, After: time.Minute})
	began := time.Now()
	for range 2 {
		_, err := s.adapter.Send(t.Context(), out(group(), "one"))
		f := adapters.AsFailure(err)
		require.Equal(t, adapters.RateLimited, f.Kind)
		require.InDelta(t, time.Minute, f.RetryAfter, float64(10*time.Second))
	}
	require.Len(t, s.srv.Calls("/messages"), 1)
	require.Less(t, time.Since(began), 10*time.Second)
}

func TestLimitOfTheAccount(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.srv.LimitGlobally(time.Minute)
	for _, to := range []adapters.Outbound{out(group(), "one"), out(direct(ada), "two")} {
		_, err := s.adapter.Send(t.Context(), to)
		f := adapters.AsFailure(err)
		require.Equal(t, adapters.RateLimited, f.Kind)
		require.Greater(t, f.RetryAfter, 50*time.Second)
	}
	require.Len(t, s.srv.Calls("/messages"), 1, "the second was not called")
}

// The library goes on sleeping when its context has ended.
func TestContextEndsACall(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.srv.Fault(adaptertest.Fault{Kind: adaptertest.Hang})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := s.adapter.Send(ctx, out(group(), "one"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), 5*time.Second)
}

func TestCallTimeout(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, func(c *discord.Config) { c.CallTimeout = time.Second })
	s.srv.Fault(adaptertest.Fault{Kind: adaptertest.Hang})
	_, err := s.adapter.Send(t.Context(), out(group(), "one"))
	require.Equal(t, adapters.Transient, adapters.AsFailure(err).Kind)
	require.False(t, adapters.AsFailure(err).Certain)
}

// What Discord's headers may hold, and what must not be believed of them.
func TestHeaderTimes(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"": 0, "x": 0, "-3": 0, "NaN": 0, "0.25": 250 * time.Millisecond, "2": 2 * time.Second, "1e300": 24 * time.Hour, "Inf": 24 * time.Hour,
	} {
		require.Equal(t, want, discord.HeaderTime(http.Header{"Retry-After": {value}}, "Retry-After"), value)
	}
}
