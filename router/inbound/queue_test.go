package inbound

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// waits is a queued run of ann: its name, its age, and whether another part may follow.
func waits(name string, age time.Duration, more bool) sessions.Run {
	in := said(name)
	return sessions.Run{
		ID: sessions.RunID(name), Status: sessions.RunQueued, Route: in.Route, Accepted: today.Add(-age),
		Input: sessions.Input{Text: name, Sender: in.Sender, More: more},
	}
}

func names(runs []sessions.Run) (all []string) {
	for _, run := range runs {
		all = append(all, string(run.ID))
	}
	return all
}

// A full queue drops whole messages from its front, as many as are above the cap with the new one.
func TestWhatAFullQueueDrops(t *testing.T) {
	t.Parallel()
	album := []sessions.Run{waits("a1", time.Minute, true), waits("a2", time.Minute-time.Second, false)}
	b, c := waits("b", 20*time.Second, false), waits("c", 10*time.Second, false)
	for name, c := range map[string]struct {
		limit  int
		queued []sessions.Run
		want   []string
	}{
		"one over":                 {2, []sessions.Run{b, c}, []string{"b"}},
		"the cap was lowered":      {1, []sessions.Run{b, c}, []string{"b", "c"}},
		"all parts of a message":   {2, append(album[:2:2], c), []string{"a1", "a2"}},
		"the parts are one of two": {1, append(album[:2:2], c), []string{"a1", "a2", "c"}},
	} {
		require.Equal(t, c.want, names(skipped(c.limit, c.queued)), name)
	}
}

func TestWhatFitsIntoAQueue(t *testing.T) {
	t.Parallel()
	old, open := waits("old", time.Minute, false), waits("open", 100*time.Millisecond, true)
	bob := with(said("hi"), func(in *Admission) { in.Sender.ID = "bob" })
	for name, c := range map[string]struct {
		limit  int
		in     Admission
		queued []sessions.Run
		want   bool
	}{
		"no cap":                     {0, said("hi"), []sessions.Run{old, old, old}, true},
		"empty":                      {1, said("hi"), nil, true},
		"room for one":               {2, said("hi"), []sessions.Run{old}, true},
		"full":                       {1, said("hi"), []sessions.Run{old}, false},
		"another part of the last":   {1, said("hi"), []sessions.Run{open}, true},
		"not a part: somebody else":  {1, bob, []sessions.Run{open}, false},
		"not a part: another place":  {1, inGroup("hi"), []sessions.Run{open}, false},
		"parts count as one message": {2, bob, []sessions.Run{open, open}, true},
	} {
		require.Equal(t, c.want, fits(c.limit, c.in, c.queued, today), name)
	}
}

// Only the audience of a skipped message reads words of it.
func TestWhatIsSaidOfAFullQueue(t *testing.T) {
	t.Parallel()
	first := waits("the code is 4711", time.Minute, false)
	here, elsewhere := first.Route, inGroup("").Route
	private := here
	private.Handle = "interaction"
	require.Equal(t, `I'm still busy and more than 5 messages are waiting. I'm skipping the oldest, starting with: “the code is 4711”`, overflowText(5, first, here))
	for _, at := range []sessions.Route{elsewhere, private} {
		require.Equal(t, "I'm still busy and more than 5 messages are waiting. I'm skipping the oldest.", overflowText(5, first, at))
	}
}

// Orders that the agent does not answer tell it nothing, and need no room in the queue.
func TestWhatAnOrderTellsTheAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		order             *sessions.Order
		talks, ordersOnly bool
	}{
		"a message": {nil, true, false},
		"an edit":   {&sessions.Order{Do: sessions.OrderEdit}, true, false},
		"/retry":    {&sessions.Order{Do: sessions.OrderRetry}, false, false},
		"/undo":     {&sessions.Order{Do: sessions.OrderUndo}, false, true},
	} {
		in := Admission{order: c.order}
		require.Equal(t, c.talks, in.talks(), name)
		require.Equal(t, c.ordersOnly, in.ordersOnly(), name)
	}
}
