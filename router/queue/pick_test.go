package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

func waitingRun(id string, status sessions.RunStatus, conversation string, age time.Duration, now time.Time) sessions.Run {
	return sessions.Run{
		ID: sessions.RunID(id), Status: status, Accepted: now.Add(-age),
		Route: sessions.Route{Channel: "telegram", Account: "default", Conversation: sessions.ConversationID(conversation)},
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	run := func(id string, age time.Duration) sessions.Run {
		return waitingRun(id, sessions.RunQueued, "1", age, now)
	}
	elsewhere := waitingRun("x", sessions.RunQueued, "2", time.Second, now)
	follower := waitingRun("b", sessions.RunRunning, "1", time.Second, now)
	follower.Leader = "a"
	leader := waitingRun("a", sessions.RunRunning, "1", time.Second, now)
	open := run("o", time.Second)
	open.Input.More = true
	other := run("b", 0)
	other.Input.Sender.ID = "bob"

	collect := Settings{Mode: sessions.QueueCollect, Debounce: 500 * time.Millisecond}
	for _, tc := range []struct {
		name    string
		queue   Settings
		waiting []sessions.Run
		busy    bool
		want    []sessions.RunID
		wait    time.Duration
	}{
		{name: "nothing", queue: collect},
		{name: "idle takes all of one place", queue: collect, waiting: []sessions.Run{run("a", 0), run("b", 0)}, want: []sessions.RunID{"a", "b"}},
		{name: "another place ends the batch", queue: collect, waiting: []sessions.Run{run("a", 0), elsewhere, run("b", 0)}, want: []sessions.RunID{"a"}},
		{name: "after a run it waits for quiet", queue: collect, waiting: []sessions.Run{run("a", time.Second), run("b", 100*time.Millisecond)}, busy: true, wait: 400 * time.Millisecond},
		{name: "quiet has come", queue: collect, waiting: []sessions.Run{run("a", time.Second), run("b", 500*time.Millisecond)}, busy: true, want: []sessions.RunID{"a", "b"}},
		{name: "followup takes one", queue: Settings{Mode: sessions.QueueFollowup, Debounce: time.Hour}, waiting: []sessions.Run{run("a", 0), run("b", 0)}, busy: true, want: []sessions.RunID{"a"}},
		{name: "an open message is waited for", queue: collect, waiting: []sessions.Run{open}, wait: joinWithin - time.Second},
		{name: "also behind a whole one", queue: collect, waiting: []sessions.Run{run("a", 2*time.Second), open}, wait: joinWithin - time.Second},
		{name: "the longer wait counts", queue: collect, waiting: []sessions.Run{open, other}, busy: true, wait: 500 * time.Millisecond},
		{name: "followup does not wait for the next message", queue: Settings{Mode: sessions.QueueFollowup}, waiting: []sessions.Run{run("a", 2*time.Second), open}, want: []sessions.RunID{"a"}},
		{name: "quiet has just begun", queue: collect, waiting: []sessions.Run{run("a", 0)}, busy: true, wait: 500 * time.Millisecond},
		{name: "nobody waits for the future", queue: collect, waiting: []sessions.Run{run("a", -time.Nanosecond)}, busy: true, want: []sessions.RunID{"a"}},
		{name: "the newest counts for quiet", queue: collect, waiting: []sessions.Run{run("a", 100*time.Millisecond), run("b", time.Second)}, busy: true, wait: 400 * time.Millisecond},
		{name: "what was running goes on first", queue: collect, waiting: []sessions.Run{leader, follower, run("c", 0)}, busy: true, want: []sessions.RunID{"a", "b"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			batch, wait := Pick(tc.queue, tc.waiting, now, tc.busy)
			require.Equal(t, tc.want, ids(batch))
			require.Equal(t, tc.wait, wait)
		})
	}
}
