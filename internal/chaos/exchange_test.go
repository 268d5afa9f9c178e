package chaos_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/chaos/completions"
	"sluice/internal/faultpoint"
	"sluice/store/storetest"
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
	w.config.Visibility, w.config.Owners = "all", askers()
	undisturbed := w.converse(firstAsker, "")
	require.Equal(t, []string{
		"user: …", "assistant: …", "toolResult: …", "assistant: echo: …", // the requester's
		"agent: The first answer.", "assistant: That was turn 1.", "agent: That was turn 2.", "assistant: That was turn 3.", "agent: That was turn 4.", "assistant: That was turn 5.",
		"user: …", "assistant: echo: …", // the target's
		"agent: A question.", "assistant: The first answer.", "agent: That was turn 1.", "assistant: That was turn 2.", "agent: That was turn 3.", "assistant: That was turn 4.",
		"agent: Now write what the people in this conversation should know about this exchange.", "assistant: " + completions.Announcement,
		"shown: echo: …", "shown: " + completions.Announcement,
	}, undisturbed)
	person := int64(firstAsker + 1)
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

// Two gateways share the sessions. Whichever of them dies in the middle of an exchange, it ends as it does without.
func TestExchangeAcrossGateways(t *testing.T) {
	t.Parallel()
	p := newPair(t, "telegram", storetest.NewServer(t))
	rounds := 2
	if *long {
		rounds = 12
	}
	var undisturbed []string
	for i := range rounds + 1 {
		person := int64(firstAsker + i)
		p.say(person+1000, "")
		p.awaitAnswers()
		p.say(person, ask(person+1000))
		if i > 0 {
			p.pause(time.Duration(p.rng.Int64N(int64(150 * time.Millisecond))))
			p.endOwner((*pair).killAndGone)
		}
		p.untilAnnounced(person + 1000)
		said := p.conversation(person)
		if i == 0 {
			undisturbed = said
			continue
		}
		require.Equal(t, undisturbed, said)
		p.startOther()
	}
}

// firstAsker is the first person who has another one's session asked.
const firstAsker = 3000

// askers are those who do so: owners, whose word needs no other's.
func askers() []string {
	owners := make([]string, 50)
	for i := range owners {
		owners[i] = fmt.Sprintf("%q", fmt.Sprintf("telegram:%d", firstAsker+i))
	}
	return owners
}

// ask is how a person has another one's session asked.
func ask(target int64) string {
	return "[ask agent:main:telegram:direct:" + fmt.Sprint(target) + "]"
}

func (w *world) untilAnnounced(target int64) {
	w.t.Helper()
	w.untilShown("the announcement", func() bool { return slices.Contains(w.chat.shown(target), completions.Announcement) })
}

// converse lets a person have another one's session asked, with a death at a point if
// one is named, and gives all that was said, without what differs from time to time.
func (w *world) converse(person int64, point string) []string {
	w.t.Helper()
	target := person + 1000
	if w.process == nil {
		w.startArmable()
	}
	w.say(target, "")
	w.awaitAnswers()
	asks := func() { w.say(person, ask(target)) }
	if point == "" {
		asks()
	} else {
		w.dies(point, asks)
	}
	w.untilAnnounced(target)
	return w.conversation(person)
}

// conversation is all that was said of a person's question, in both sessions and to the other one's people.
func (w *world) conversation(person int64) []string {
	w.t.Helper()
	w.awaitAnswers()
	w.untilIdle()
	said := append(w.transcript(person), w.transcript(person+1000)...)
	for _, text := range w.chat.shown(person + 1000) {
		said = append(said, "shown: "+stable(text))
	}
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
