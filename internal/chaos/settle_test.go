package chaos_test

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/chaos"
)

// quiet is how long a restarted gateway is watched for answers that nobody waits for.
const quiet = 1500 * time.Millisecond

// settle waits until everything is answered and nothing is on its way, and
// restarts the gateway once more to see that this stays so.
func (w *world) settle() {
	w.t.Helper()
	if w.process == nil {
		w.startReady()
	}
	w.awaitAnswers()
	w.terminate()
	before := w.sent()
	w.startReady()
	w.pause(quiet)
	require.Equal(w.t, before, w.sent(), "a restart without work must send nothing")
	require.Empty(w.t, w.rows("failed", "expired", "blocked"), "dead letters")
}

func (w *world) awaitAnswers() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), answerWithin)
	defer cancel()
	require.NoError(w.t, w.chat.waitConfirmed(ctx))
	w.untilShown("every message answered", func() bool {
		return len(chaos.Judge(w.said, w.sent()).Unanswered) == 0
	})
	w.untilIdle()
}

// working is how many runs have not ended.
func (w *world) working() int {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), readyWithin)
	defer cancel()
	n := 0
	for _, status := range []string{"queued", "running"} {
		rows, err := w.process.Runs(ctx, status)
		require.NoError(w.t, err)
		n += len(rows)
	}
	return n
}

// underWay is how many deliveries are not settled.
func (w *world) underWay() int {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), readyWithin)
	defer cancel()
	counts, err := w.process.DeliveryCounts(ctx)
	require.NoError(w.t, err)
	return counts["queued"] + counts["sending"] + counts["preview"]
}

// rows are the texts of the deliveries with any of these statuses.
func (w *world) rows(statuses ...string) []string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), readyWithin)
	defer cancel()
	var texts []string
	for _, status := range statuses {
		rows, err := w.process.Deliveries(ctx, status)
		require.NoError(w.t, err)
		for _, r := range rows {
			texts = append(texts, r.Text)
		}
	}
	return texts
}

// judge fails the test where the promise was broken, and tells the tally.
func (w *world) judge() (verdict chaos.Verdict, unknown []string) {
	w.t.Helper()
	w.noteLate()
	verdict, unknown = chaos.Judge(w.said, w.sent()), w.rows("unknown")
	w.t.Logf("%d messages, %d lives, %d unknown sends, %d messages repeated", len(w.said), w.lives, len(unknown), len(verdict.Repeats))
	if w.chat.settles() {
		require.Empty(w.t, unknown, "a lost answer must be looked up; seed -chaos.seed=%d", *seed)
	}
	require.Empty(w.t, verdict.Faults(unknown), "seed -chaos.seed=%d", *seed)
	return verdict, unknown
}

// noteLate notes which messages the platform gave again, and counts them.
func (w *world) noteLate() (n int) {
	for i, s := range w.said {
		w.said[i].Late = w.chat.late(s.Event)
		if w.said[i].Late {
			n++
		}
	}
	return n
}
