package adaptertest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
)

var failing = []subtest{
	{"too many calls: the platform's own pause", rateLimited},
	{"too many calls: a pause that no clock can hold", rateLimitedForEver},
	{"an error of the platform passes", serverError},
	{"an answer that is not the platform's leaves it open", garbage},
	{"no answer ends with the deadline and leaves it open", hang},
	{"cut before the effect", resetBefore},
	{"cut after the effect", resetAfter},
	{"a conversation that is gone", refused},
	{"a token that is no longer valid", revoked},
}

// failed sends into a fault and returns the failure.
func (w *world) failed(ctx context.Context, f Fault) *adapters.Failure {
	w.t.Helper()
	w.needs(w.limits.Fails, "network in between")
	w.Fault(f)
	_, err := w.adapter.Send(ctx, out("dlv_1", w.Direct(), "hello"))
	require.Error(w.t, err)
	failure, ok := err.(*adapters.Failure) //nolint:errorlint // the port promises a *Failure, not something around one
	require.True(w.t, ok, "Send's error is a *Failure, not %T", err)
	return failure
}

// recovers checks that the next message, number n, is accepted.
func (w *world) recovers(n int) {
	w.t.Helper()
	w.send(out("dlv_2", w.Direct(), "and now?"))
	shown := w.shown(w.Direct(), n)
	require.Equal(w.t, "and now?", shown[n-1].Plain)
}

func rateLimited(w *world) {
	w.needs(w.limits.RetryAfter, "limits with a time")
	f := w.failed(w.t.Context(), Fault{Kind: RateLimited, After: 3 * time.Second})
	require.Equal(w.t, adapters.RateLimited, f.Kind)
	require.GreaterOrEqual(w.t, f.RetryAfter, 3*time.Second)
	require.Less(w.t, f.RetryAfter, 10*time.Second)
	require.True(w.t, f.Certain, "what was refused was not done")
	require.Empty(w.t, w.Shown(w.Direct()))
}

func rateLimitedForEver(w *world) {
	w.needs(w.limits.RetryAfter, "limits with a time")
	f := w.failed(w.t.Context(), Fault{Kind: RateLimited, After: 290 * 365 * 24 * time.Hour})
	require.Equal(w.t, adapters.RateLimited, f.Kind)
	require.Equal(w.t, 24*time.Hour, f.RetryAfter, "so that the lane asks again some day")
}

func serverError(w *world) {
	f := w.failed(w.t.Context(), Fault{Kind: ServerError})
	require.Equal(w.t, adapters.Transient, f.Kind)
	w.recovers(1)
}

func garbage(w *world) {
	f := w.failed(w.t.Context(), Fault{Kind: Garbage})
	require.Equal(w.t, adapters.Transient, f.Kind)
	require.False(w.t, f.Certain)
	w.recovers(1)
}

func hang(w *world) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	f := w.failed(ctx, Fault{Kind: Hang})
	require.Equal(w.t, adapters.Transient, f.Kind)
	require.False(w.t, f.Certain)
	require.Less(w.t, time.Since(began), patience/2)
	w.recovers(1)
}

func resetBefore(w *world) {
	f := w.failed(w.t.Context(), Fault{Kind: ResetBefore})
	require.Equal(w.t, adapters.Transient, f.Kind)
	require.False(w.t, f.Certain, "nobody can tell")
	require.Empty(w.t, w.Shown(w.Direct()))
	w.recovers(1)
}

func resetAfter(w *world) {
	f := w.failed(w.t.Context(), Fault{Kind: ResetAfter})
	require.Equal(w.t, adapters.Transient, f.Kind)
	require.False(w.t, f.Certain)
	w.shown(w.Direct(), 1)
	w.recovers(2)
}

func refused(w *world) {
	f := w.failed(w.t.Context(), Fault{Kind: Refused})
	require.Equal(w.t, adapters.Permanent, f.Kind)
	require.True(w.t, f.Certain)
	require.Empty(w.t, w.Shown(w.Direct()))
}

func revoked(w *world) {
	w.needs(w.limits.Fails, "network in between")
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- w.adapter.Run(ctx, w.inbox) }()
	w.Say(w.Direct(), w.Person(0), "are you there?")
	w.inbox.next(w.t)
	w.Revoke()
	err := receive(w.t, ended, "Run's end")
	require.Error(w.t, err)
	require.Equal(w.t, adapters.Auth, adapters.AsFailure(err).Kind)
	if stater, ok := w.adapter.(adapters.Stater); ok {
		require.Equal(w.t, adapters.Failed, stater.State().Status)
		require.NotEmpty(w.t, stater.State().Detail, "what to do")
	}
	_, err = w.adapter.Send(ctx, out("dlv_1", w.Direct(), "hello"))
	require.Equal(w.t, adapters.Auth, adapters.AsFailure(err).Kind)
	require.Equal(w.t, adapters.Auth, adapters.AsFailure(w.Adapter(w.t).Run(ctx, w.inbox)).Kind, "one that starts now")
}
