package chaos_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/chaos/completions"
	"sluice/internal/faultpoint"
)

// runsOfAnExchange is how many runs there are from a person's request to the announcement:
// the person's own, the request, five turns, the announcement.
const runsOfAnExchange = 8

// The gateway dies before and after the start and the end of each run of an
// exchange. What both sessions then have in their transcripts, and what the other one's people
// have heard, is exactly what it is without a death.
func TestExchangeThroughDeath(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{binary: built.faulty, seedPlus: 60})
	w.config.Visibility = "all"
	undisturbed := w.converse(3000, "")
	require.Equal(t, []string{
		"user: …", "assistant: …", "toolResult: …", "assistant: echo: …", // the requester's
		"agent: The first answer.", "assistant: That was turn 1.", "agent: That was turn 2.", "assistant: That was turn 3.", "agent: That was turn 4.", "assistant: That was turn 5.",
		"user: …", "assistant: echo: …", // the target's
		"agent: A question.", "assistant: The first answer.", "agent: That was turn 1.", "assistant: That was turn 2.", "agent: That was turn 3.", "assistant: That was turn 4.",
		"agent: Say now what the people of this conversation shall hear of this exchange.", "assistant: " + completions.Announcement,
		"shown: echo: …", "shown: " + completions.Announcement,
	}, undisturbed)
	person := int64(3001)
	for _, p := range []faultpoint.Point{faultpoint.ClaimBeforeCommit, faultpoint.ClaimAfterCommit, faultpoint.FinishBeforeCommit, faultpoint.FinishAfterCommit} {
		for n := 1; n <= runsOfAnExchange; n++ {
			if !*long && n%3 != 1 {
				continue
			}
			point := fmt.Sprintf("%s:%d", p, n)
			require.Equal(t, undisturbed, w.converse(person, point), point)
			person++
		}
	}
}

// converse lets a person have another one's session asked, with a death at a point if
// one is named, and gives all that was said, without what differs from time to time.
func (w *world) converse(person int64, point string) []string {
	w.t.Helper()
	target := person + 1000
	w.startReady()
	w.say(target, "")
	w.awaitAnswers()
	env := []string{}
	if point != "" {
		w.untilIdle()
		w.terminate()
		env = append(env, faultpoint.Env+"="+point)
		w.startReady(env...)
	}
	w.say(person, "[ask agent:main:telegram:direct:"+fmt.Sprint(target)+"]")
	if point != "" {
		ctx, cancel := context.WithTimeout(w.t.Context(), readyWithin)
		defer cancel()
		killed, err := w.process.Killed(ctx)
		require.NoError(w.t, err, "%s was not reached", point)
		require.True(w.t, killed, "%s: the gateway ended otherwise", point)
		w.startReady()
	}
	w.untilShown("the announcement", func() bool { return slices.Contains(w.chat.shown(target), completions.Announcement) })
	w.awaitAnswers()
	w.untilIdle()
	said := append(w.transcript(person), w.transcript(target)...)
	for _, text := range w.chat.shown(target) {
		said = append(said, "shown: "+stable(text))
	}
	w.terminate()
	return said
}

func (w *world) transcript(person int64) []string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), readyWithin)
	defer cancel()
	history, err := w.process.History(ctx, "agent:main:telegram:direct:"+fmt.Sprint(person))
	require.NoError(w.t, err)
	var lines []string
	for _, m := range history {
		lines = append(lines, strings.TrimRight(m.Role+": "+stable(m.Text), "\n"))
	}
	return lines
}

// stable is a text without what differs from person to person.
func stable(text string) string {
	if rest, ok := strings.CutPrefix(text, "echo: "); ok {
		return "echo: " + stable(rest)
	}
	if strings.HasPrefix(text, "{") || strings.Contains(text, "[ask") || !strings.Contains(text, " ") {
		return "…"
	}
	return text
}
