package adapters_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
)

func quiet() adapters.Retry {
	return adapters.Retry{First: time.Second, Longest: 10 * time.Second, Log: slog.New(slog.DiscardHandler)}
}

func failure(kind adapters.Kind, wait time.Duration) error {
	return &adapters.Failure{Kind: kind, RetryAfter: wait, Err: errors.New(string(kind))}
}

func TestRetryWaitsAsLongAsItShall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		begun, shown := time.Now(), 0
		r := quiet()
		r.Show = func(*adapters.Failure) { shown++ }
		err := r.Do(t.Context(), "call", func(context.Context) error {
			at = append(at, time.Since(begun))
			switch len(at) {
			case 1, 2:
				return failure(adapters.Transient, 0)
			case 3:
				return failure(adapters.RateLimited, time.Hour)
			case 10:
				return nil
			}
			return failure(adapters.Permanent, 0)
		})
		require.NoError(t, err)
		require.Equal(t, 9, shown)
		for i, least := range []time.Duration{time.Second, 2 * time.Second, time.Hour, 8 * time.Second, 10 * time.Second, 10 * time.Second} {
			pause := at[i+1] - at[i]
			require.GreaterOrEqual(t, pause, least)
			require.LessOrEqual(t, pause, least*5/4)
		}
	})
}

func TestRetryEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refuse := func(context.Context) error { return failure(adapters.Auth, 0) }
		require.Equal(t, adapters.Auth, adapters.AsFailure(quiet().Do(t.Context(), "call", refuse)).Kind)
		r := quiet()
		r.GiveUp = func(f *adapters.Failure) bool { return f.Kind == adapters.Permanent }
		require.Error(t, r.Do(t.Context(), "call", func(context.Context) error { return failure(adapters.Permanent, 0) }))
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(why) })
		require.ErrorIs(t, quiet().Do(ctx, "call", func(context.Context) error { return failure(adapters.Transient, 0) }), why)
	})
}

func TestCountersAreSharedByAccounts(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	counter := func() *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "calls_total"}, []string{"account"})
	}
	first, second := counter(), counter()
	require.NoError(t, adapters.Shared(registry, &first))
	require.NoError(t, adapters.Shared(registry, &second))
	require.Same(t, first, second)
	require.NoError(t, adapters.Shared(nil, &first))
	other := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "calls_total"}, []string{"else"})
	require.Error(t, adapters.Shared(registry, &other))
}
