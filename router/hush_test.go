package router_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

// writes is an agent that writes an answer piece by piece.
func writes(pieces ...string) func(context.Context, string, func(sessions.Event)) (string, error) {
	return func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
		for _, p := range pieces {
			emit(sessions.Event{Type: sessions.EventDelta, Text: p})
			time.Sleep(time.Second) // the test's own time
		}
		return strings.Join(pieces, ""), nil
	}
}

// told are the texts of the events that show an answer, each that was said.
func (l *localBus) told() (texts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if (e.Type == sessions.EventDelta || e.Type == sessions.EventDone) && e.Text != "" {
			texts = append(texts, string(e.Type)+" "+e.Text)
		}
	}
	return texts
}

// A word that means silence is shown to nobody: neither when it is the answer nor while it is written.
func TestWordsOfSilenceAreShownToNobody(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"NO_REPLY", "REPLY_SKIP", "ANNOUNCE_SKIP"} {
		for name, pieces := range map[string][]string{
			"at once":        {word},
			"in pieces":      {word[:4], word[4:], "\n"},
			"between spaces": {strings.Repeat(" \n", 20), word, "  "},
		} {
			t.Run(word+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newBundle(t)
					b.adapter = editable{b.chat}
					b.agent.answer = writes(pieces...)
					run := b.hear(in("ann", "1", "hi"))
					require.Equal(t, sessions.RunDone, b.ended(run.Run).Status)
					time.Sleep(time.Minute)
					require.Empty(t, b.chat.texts(""), "of this word nothing may show in a chat")
					require.Empty(t, b.bus.told(), "of this word nothing may show on the page")
					require.Empty(t, b.deliveries(ledger.DeliverySent))
				})
			})
		}
	}
}

// What only begins as such a word is shown, from its beginning, as soon as it is something else.
func TestWhatOnlyBeginsAsSilenceIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.agent.answer = writes("NO_", "REPLY", " is a word that I may use.")
		run := b.hear(in("ann", "1", "hi"))
		require.Equal(t, sessions.RunDone, b.ended(run.Run).Status)
		require.Equal(t, []string{"text.delta NO_REPLY is a word that I may use.", "run.done NO_REPLY is a word that I may use."}, b.bus.told())
		b.await(1)
		require.Equal(t, []string{"NO_REPLY is a word that I may use."}, b.chat.texts("ann"))
	})
}

// The beginning of an answer is no silence for what is said after a tool's call, and the other way round.
func TestSilenceAfterAToolCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "Let me look."})
			emit(sessions.Event{Type: sessions.EventToolCall, Tool: "read", CallID: "1"})
			emit(sessions.Event{Type: sessions.EventToolDone, Tool: "read", CallID: "1"})
			emit(sessions.Event{Type: sessions.EventDelta, Text: "REPLY_SKIP"})
			return "REPLY_SKIP", nil
		}
		run := b.hear(in("ann", "1", "hi"))
		require.Equal(t, sessions.RunDone, b.ended(run.Run).Status)
		require.Equal(t, []string{"text.delta Let me look."}, b.bus.told())
	})
}
