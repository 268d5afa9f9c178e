package queue

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/policy/flow"
	"sluice/sessions"
)

// runs draws what few people say in few places, some of it in parts.
func runs(t *rapid.T) []sessions.Run {
	at := time.Unix(1_800_000_000, 0)
	var drawn []sessions.Run
	for i := range rapid.IntRange(0, 12).Draw(t, "runs") {
		at = at.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "after")) * time.Millisecond)
		run := waitingRun(string(rune('a'+i)), sessions.RunQueued, rapid.SampledFrom([]string{"1", "2"}).Draw(t, "place"), 0, at)
		run.Input.Sender.ID = sessions.UserID(rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "who"))
		run.Input.More = rapid.Bool().Draw(t, "more")
		run.Input.Text = rapid.SampledFrom([]string{"", "x", "y\nz"}).Draw(t, "text")
		run.Label = flow.NewLabel(rapid.SampledFrom(flow.Levels()).Draw(t, "level"), flow.Trusted)
		drawn = append(drawn, run)
	}
	return drawn
}

// No run is lost or twice, no message has two speakers or a gap, and no two messages could be one.
func TestMessages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := runs(t)
		said := Messages(all)
		var seen []sessions.RunID
		for i, message := range said {
			for j, part := range message {
				seen = append(seen, part.ID)
				require.Equal(t, message[0].Input.Sender, part.Input.Sender)
				require.Equal(t, message[0].Route.Lane(), part.Route.Lane())
				if j > 0 {
					require.True(t, follows(message[j-1], part.Accepted))
				}
			}
			if i > 0 {
				require.False(t, message[0].Accepted.Before(said[i-1][0].Accepted), "in the order in which they began")
			}
		}
		slices.Sort(seen)
		require.Len(t, seen, len(all))
		require.Equal(t, seen, slices.Compact(slices.Clone(seen)))
	})
}

func TestJoinedLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, message := range Messages(runs(t)) {
			whole := Joined(message)
			var texts []string
			for _, part := range message {
				require.True(t, part.Label.FlowsTo(whole.Label.Level()), "as secret as its most secret part")
				if part.Input.Text != "" {
					texts = append(texts, part.Input.Text)
				}
			}
			require.Equal(t, strings.Join(texts, "\n"), whole.Input.Text)
			require.Equal(t, message[0].ID, whole.ID)
		}
	})
}

// What is picked is never a part of a message whose rest still waits, and waiting has an end.
func TestPickTakesWholeMessages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		waiting := runs(t)
		if len(waiting) == 0 {
			return
		}
		q := Settings{Mode: rapid.SampledFrom([]sessions.QueueMode{sessions.QueueCollect, sessions.QueueFollowup}).Draw(t, "mode"), Debounce: 300 * time.Millisecond}
		now := waiting[len(waiting)-1].Accepted
		busy := rapid.Bool().Draw(t, "busy")
		batch, wait := Pick(q, waiting, now, busy)
		require.LessOrEqual(t, wait, joinWithin)
		if wait > 0 {
			require.Empty(t, batch)
			batch, wait = Pick(q, waiting, now.Add(wait), busy)
			require.Zero(t, wait)
		}
		picked := map[sessions.RunID]bool{}
		for _, run := range batch {
			picked[run.ID] = true
		}
		for _, message := range Messages(waiting) {
			for _, part := range message {
				require.Equal(t, picked[message[0].ID], picked[part.ID])
			}
		}
		require.True(t, picked[waiting[0].ID])
	})
}
