package router_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// A model's words are published in few pieces: the first at once, no text lost, none after the end.
func TestWordsArePublishedInPieces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		const words = 200
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			for range words {
				emit(sessions.Event{Type: sessions.EventDelta, Text: "word "})
				time.Sleep(time.Millisecond)
			}
			emit(sessions.Event{Type: sessions.EventToolCall, Tool: "t"})
			emit(sessions.Event{Type: sessions.EventDelta, Text: "end"})
			return strings.Repeat("word ", words) + "end", nil
		}
		run := b.hear(in("ann", "1", "hi"))
		require.Equal(t, sessions.RunDone, b.ended(run.Run).Status)
		synctest.Wait()
		var text strings.Builder
		var kinds []sessions.EventType
		b.bus.mu.Lock()
		defer b.bus.mu.Unlock()
		for _, e := range b.bus.events {
			switch e.Type {
			case sessions.EventDelta:
				text.WriteString(e.Text)
				kinds = append(kinds, e.Type)
			case sessions.EventToolCall, sessions.EventDone:
				kinds = append(kinds, e.Type)
			}
		}
		require.Equal(t, strings.Repeat("word ", words)+"end", text.String())
		require.LessOrEqual(t, len(kinds), 10)
		require.Equal(t, []sessions.EventType{sessions.EventToolCall, sessions.EventDelta, sessions.EventDone}, kinds[len(kinds)-3:])
	})
}
