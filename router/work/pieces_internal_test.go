package work

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// Text waits for the next time at which it may be published, and no longer.
func TestPiecesAreDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		began := time.Now()
		p := textChunks{publish: func(e sessions.Event) {
			seen = append(seen, fmt.Sprint(time.Since(began).Milliseconds(), " ", e.Type, " ", e.Text))
		}}
		say := func(kind sessions.EventType, text string, then time.Duration) {
			p.add(sessions.Event{Type: kind, Text: text})
			time.Sleep(then)
			synctest.Wait()
		}
		say(sessions.EventDelta, "a", 10*time.Millisecond)
		say(sessions.EventDelta, "b", 10*time.Millisecond)
		say(sessions.EventDelta, "c", 85*time.Millisecond) // at 50 it is due, and at 100 nothing is
		say(sessions.EventDelta, "d", 10*time.Millisecond)
		say(sessions.EventThinking, "e", 10*time.Millisecond)
		say(sessions.EventToolCall, "", 10*time.Millisecond)
		say(sessions.EventDelta, "f", time.Millisecond)
		p.close()
		say(sessions.EventDelta, "late", time.Second)
		require.Equal(t, []string{
			"0 text.delta a", "50 text.delta bc", "105 text.delta d", "125 thinking.delta e", "125 tool.call ", "136 text.delta f",
		}, seen)
	})
}
