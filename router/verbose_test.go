package router_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// People see the tools that a run uses as far as the session's verbose level says; none unless it says so.
func TestVerboseLevels(t *testing.T) {
	t.Parallel()
	for level, want := range map[sessions.VerboseLevel][]string{
		sessions.VerboseInherit: {"done"},
		sessions.VerboseOff:     {"done"},
		sessions.VerboseOn:      {"🔧 `look`", "🔧 `leap`", "done"},
		sessions.VerboseFull:    {"🔧 `look`", "🔧 `look` done", "🔧 `leap`", "🔧 `leap` failed", "done"},
	} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				first := b.hear(in("owner", "0", "hi"))
				b.await(1)
				_, err := b.PatchSession(t.Context(), sessions.Patch{ID: first.Session, VerboseLevel: &level}, "operator")
				require.NoError(t, err)
				b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
					for range 2 { // the second time as after a crash
						emit(sessions.Event{Type: sessions.EventToolCall, CallID: "1", Tool: "look"})
						emit(sessions.Event{Type: sessions.EventToolDone, CallID: "1", Tool: "look"})
					}
					emit(sessions.Event{Type: sessions.EventToolCall, CallID: "2", Tool: "leap"})
					emit(sessions.Event{Type: sessions.EventToolDone, CallID: "2", Tool: "leap", Failed: true})
					return "done", nil
				}
				b.hear(in("owner", "1", "go"))
				b.await(len(want))
				synctest.Wait()
				require.Equal(t, want, b.chat.texts("owner")[1:])
			})
		})
	}
}

// A session that may not speak shows no tools either.
func TestVerboseIsGated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		first := b.hear(in("owner", "0", "hi"))
		b.await(1)
		on, deny := sessions.VerboseOn, sessions.SendDeny
		_, err := b.PatchSession(t.Context(), sessions.Patch{ID: first.Session, VerboseLevel: &on, SendPolicy: &deny}, "operator")
		require.NoError(t, err)
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventToolCall, CallID: "1", Tool: "look"})
			return "done", nil
		}
		run := b.hear(in("owner", "1", "go"))
		require.Equal(t, sessions.RunDone, b.ended(run.Run).Status)
		synctest.Wait()
		require.Len(t, b.chat.texts("owner"), 1)
	})
}
