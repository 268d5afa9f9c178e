package adapters_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/sessions"
)

func TestTracker(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	now := start
	tracker := adapters.NewTracker("slack", "work", func() time.Time { return now })
	want := adapters.State{Channel: "slack", Account: "work", Status: adapters.Stopped, Since: start}
	require.Equal(t, want, tracker.State())

	now = start.Add(time.Second)
	tracker.Set(adapters.Connecting, "")
	want.Status, want.Since = adapters.Connecting, now
	require.Equal(t, want, tracker.State())

	now = start.Add(2 * time.Second)
	tracker.Set(adapters.Connecting, "the second try")
	want.Detail = "the second try"
	require.Equal(t, want, tracker.State(), "it has been so since the first try")

	tracker.Event()
	want.LastEvent = now
	now = start.Add(3 * time.Second)
	tracker.Heard()
	want.LastHeard = now
	tracker.Identify(sessions.Peer{ID: "B1", Bot: true})
	want.Self = sessions.Peer{ID: "B1", Bot: true}
	require.Equal(t, want, tracker.State())

	for kind, status := range map[adapters.Kind]adapters.Status{adapters.Auth: adapters.Failed, adapters.Transient: adapters.Retrying} {
		tracker.Fail(&adapters.Failure{Kind: kind, Err: errors.New("no answer")})
		require.Equal(t, status, tracker.State().Status)
		require.Equal(t, "no answer", tracker.State().Detail)
	}
}
