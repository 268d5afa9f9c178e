package sessions_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// streamed answers in many pieces, and ends early when its context does.
func streamed(ctx context.Context, _ sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	for range 50 {
		if ctx.Err() != nil {
			return sessions.Completion{}, ctx.Err()
		}
		on(sessions.Chunk{Type: sessions.PartThinking, Text: "h"})
		on(sessions.Chunk{Type: sessions.PartText, Text: "word "})
	}
	return sessions.Completion{Parts: []sessions.Part{{Type: sessions.PartText, Text: "all"}}}, nil
}

// drain reads a completion to its end and counts its terminal events and those behind one.
func drain(steps <-chan sessions.Step, each func()) (terminal, behind int, err error) {
	for st := range steps {
		if terminal > 0 {
			behind++
		}
		if st.Done {
			terminal++
			err = st.Err
		}
		each()
	}
	return terminal, behind, err
}

// One goroutine drives the session; others read all of it in the meantime and scribble over what they got.
func TestReadersOfAStreamingSession(t *testing.T) {
	t.Parallel()
	const rounds, readers = 20, 2
	answers := make([]sessiontest.Answer, rounds)
	for i := range answers {
		answers[i] = streamed
	}
	b := newBundle(t, answers...)
	b.Append(user("go"))
	stop := make(chan struct{})
	var reading sync.WaitGroup
	for range readers {
		reading.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					read(b.Session)
					runtime.Gosched()
				}
			}
		})
	}
	answered := 0
	for round := range rounds {
		steps, cancel := b.RequestCompletion(t.Context())
		events := 0
		terminal, behind, err := drain(steps, func() {
			if events++; round%2 == 1 && events == round {
				cancel()
				cancel()
			}
		})
		cancel()
		require.Equal(t, []int{1, 0}, []int{terminal, behind}, "exactly one terminal event, at the end")
		_, open := <-steps
		require.False(t, open)
		if round%5 == 4 {
			wander(t, b.Session)
		}
		if err == nil {
			answered++
		} else {
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	close(stop)
	reading.Wait()
	require.Nil(t, b.CurrentParts())
	require.Len(t, b.Messages(), 1+answered)
	for _, m := range b.Messages()[1:] {
		require.Equal(t, "all", m.Text(), "what readers got is their own")
	}
}

// wander moves through the tree and stores it, and comes back to where it was.
func wander(t *testing.T, s *sessions.Session) {
	t.Helper()
	head := s.Record().Head
	_, err := s.Edit(t.Context(), head, []sessions.Part{sessions.TextPart("another", s.Taint())})
	require.NoError(t, err)
	_, err = s.Undo(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, s.Persist(t.Context()))
	require.NoError(t, s.Switch(t.Context(), head))
	require.NoError(t, s.Reload(t.Context(), true))
	require.NoError(t, s.Switch(t.Context(), head))
}

func read(s *sessions.Session) {
	for _, parts := range [][]sessions.Part{s.CurrentParts(), s.Last().Parts} {
		for i := range parts {
			parts[i].Text = "scribble"
		}
	}
	for _, m := range s.Messages() {
		for i := range m.Parts {
			m.Parts[i].Text = strings.ToUpper(m.Parts[i].Text)
		}
	}
	for _, stored := range s.Pending().Messages {
		stored.Message.Parts[0].Text = "scribble"
	}
	s.Record()
	s.Dirty()
	s.PendingToolCalls()
}

// Who goes away without reading holds nothing: goleak looks after this package's tests.
func TestAbandonedCompletionEnds(t *testing.T) {
	t.Parallel()
	b := newBundle(t, streamed, streamed, sessiontest.Says("at last"))
	b.Append(user("go"))
	_, cancel := b.RequestCompletion(t.Context())
	cancel()
	ctx, end := context.WithCancel(t.Context())
	steps, cancel := b.RequestCompletion(ctx)
	defer cancel()
	end() // the caller's own context does it too
	terminal, behind, _ := drain(steps, func() {})
	require.Equal(t, []int{1, 0}, []int{terminal, behind})
}
