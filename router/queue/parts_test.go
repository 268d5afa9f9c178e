package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// said is what somebody says at a place, so long after the first message of a test; more says that a part may follow.
func said(id, who, place string, after time.Duration, more bool) sessions.Run {
	run := waitingRun(id, sessions.RunQueued, place, 0, time.Unix(1_800_000_000, 0).Add(after))
	run.Input.Sender.ID, run.Input.More = sessions.UserID(who), more
	return run
}

// ids names runs.
func ids(runs []sessions.Run) []sessions.RunID {
	var named []sessions.RunID
	for _, run := range runs {
		named = append(named, run.ID)
	}
	return named
}

// Voices that talk at the same time do not end each other's messages.
func TestMessagesOfSeveralVoices(t *testing.T) {
	t.Parallel()
	const soon = 100 * time.Millisecond
	ordered := said("b", "ann", "1", soon, true)
	ordered.Input.Order = &sessions.Order{Do: sessions.OrderRetry}
	for name, c := range map[string]struct {
		runs []sessions.Run
		want [][]sessions.RunID
	}{
		"two people": {
			[]sessions.Run{said("a", "ann", "1", 0, true), said("b", "bob", "1", soon, true), said("c", "ann", "1", 2*soon, false), said("d", "bob", "1", 3*soon, false)},
			[][]sessions.RunID{{"a", "c"}, {"b", "d"}},
		},
		"one person in two places": {
			[]sessions.Run{said("a", "ann", "1", 0, true), said("b", "ann", "2", soon, true), said("c", "ann", "1", 2*soon, false), said("d", "ann", "2", 3*soon, false)},
			[][]sessions.RunID{{"a", "c"}, {"b", "d"}},
		},
		"the newest message goes on": {
			[]sessions.Run{said("a", "ann", "1", 0, false), said("b", "ann", "1", soon, true), said("c", "ann", "1", 2*soon, false)},
			[][]sessions.RunID{{"a"}, {"b", "c"}},
		},
		"an order is a message": {
			[]sessions.Run{said("a", "ann", "1", 0, true), ordered, said("c", "ann", "1", 2*soon, false)},
			[][]sessions.RunID{{"a"}, {"b", "c"}},
		},
	} {
		var got [][]sessions.RunID
		for _, message := range Messages(c.runs) {
			got = append(got, ids(message))
		}
		require.Equal(t, c.want, got, name)
	}
}

// A part belongs to a message as long as it comes within joinWithin, to the nanosecond.
func TestPartsInTime(t *testing.T) {
	t.Parallel()
	first := said("a", "ann", "1", 0, true)
	for name, c := range map[string]struct {
		more  bool
		after time.Duration
		joins bool
	}{
		"at once":                   {true, 0, true},
		"just in time":              {true, joinWithin - 1, true},
		"too late":                  {true, joinWithin, false},
		"before it":                 {true, -1, false},
		"nothing more was expected": {false, 0, false},
	} {
		before := first
		before.Input.More = c.more
		part := said("b", "ann", "1", c.after, false)
		want := 2
		open := time.Duration(0)
		if c.joins {
			want, open = 1, joinWithin-c.after
		}
		require.Len(t, Messages([]sessions.Run{before, part}), want, name)
		require.Equal(t, c.joins, Continues([]sessions.Run{before}, "ann", before.Route.Lane(), part.Accepted), name)
		require.Equal(t, open, WaitForMore([]sessions.Run{before}, part.Accepted), name)
	}
}

// An event continues the newest message of the same person in the same place.
func TestContinues(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0).Add(300 * time.Millisecond)
	open, whole := said("a", "ann", "1", 0, true), said("b", "ann", "1", 100*time.Millisecond, false)
	stranger, elsewhere := said("c", "bob", "1", 0, true), said("d", "ann", "2", 0, true)
	for name, c := range map[string]struct {
		queued []sessions.Run
		want   bool
	}{
		"nothing waits":                      {nil, false},
		"a part may follow":                  {[]sessions.Run{open}, true},
		"it is whole":                        {[]sessions.Run{whole}, false},
		"the newest is whole":                {[]sessions.Run{open, whole}, false},
		"the newest is open":                 {[]sessions.Run{whole, open}, true},
		"another person's":                   {[]sessions.Run{stranger}, false},
		"in another place":                   {[]sessions.Run{elsewhere}, false},
		"others have spoken since":           {[]sessions.Run{open, stranger, elsewhere}, true},
		"others may go on, this person not":  {[]sessions.Run{whole, stranger, elsewhere}, false},
		"others spoke before, this one last": {[]sessions.Run{stranger, elsewhere, open}, true},
	} {
		require.Equal(t, c.want, Continues(c.queued, "ann", open.Route.Lane(), now), name)
	}
}

func TestQueued(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	queued, running := waitingRun("a", sessions.RunQueued, "1", 0, now), waitingRun("b", sessions.RunRunning, "1", 0, now)
	later := waitingRun("c", sessions.RunQueued, "1", 0, now)
	require.Equal(t, []sessions.RunID{"a", "c"}, ids(Queued([]sessions.Run{queued, running, later})))
	require.Empty(t, Queued([]sessions.Run{running}))
}

// A message ends the work for the same people, whether it has begun or waits, and nothing else.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	run := func(id string, change func(*sessions.Run)) sessions.Run {
		r := waitingRun(id, sessions.RunQueued, "1", 0, now)
		r.Session, r.Kind = "sess_1", sessions.KindMessage
		if change != nil {
			change(&r)
		}
		return r
	}
	waiting := []sessions.Run{
		run("works", func(r *sessions.Run) { r.Status = sessions.RunRunning }),
		run("merged", func(r *sessions.Run) { r.Status, r.Leader = sessions.RunRunning, "works" }),
		run("step", func(r *sessions.Run) { r.Kind = sessions.KindAsk }),
		run("note", func(r *sessions.Run) { r.Kind = sessions.KindNote }),
		run("command", func(r *sessions.Run) { r.Kind = sessions.KindCommand }),
		run("elsewhere", func(r *sessions.Run) { r.Route.Conversation = "2" }),
		run("private", func(r *sessions.Run) { r.Route.Handle = "h" }),
		run("waits", nil),
	}
	want := []sessions.Interrupt{{Session: "sess_1", Run: "works"}, {Session: "sess_1", Run: "waits"}}
	require.Equal(t, want, Interrupted(waiting, waiting[0].Route))
	require.Empty(t, Interrupted(nil, waiting[0].Route))
}
