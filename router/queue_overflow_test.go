package router_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/router/inbound"
	"sluice/router/request"
	"sluice/sessions"
)

// Who fills a queue that several conversations share is told so, but not what was said in the others.
func TestOverflowTellsNobodyElsesWords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			b.settings.Keyer = sessions.Keyer{Scope: sessions.ScopeMain}
			b.settings.Queue.Cap = 1
		})
		release := b.busy()
		b.hear(in("ann", "1", "first"))
		synctest.Wait()
		b.hear(in("ann", "2", "the door's code is 4711"))
		b.hear(in("bob", "3", "hello"))
		synctest.Wait()
		told := b.chat.texts("bob")
		require.Len(t, told, 1)
		require.Contains(t, told[0], "I'm skipping the oldest")
		require.NotContains(t, told[0], "4711")
		release()
		b.await(2)
	})
}

// A program gets an error for a message that is not accepted, not a text in place of the reply; it can send the same again.
func TestProgramsGetErrorsForRefusedMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.Queue.Cap, b.settings.Queue.DropNew = 1, true })
		release := b.busy()
		session := b.hear(in("ann", "1", "first")).Session
		synctest.Wait()
		program := func(id, text string) error {
			_, err := b.Intake.Admit(t.Context(), inbound.Admission{Inbound: in("ann", id, text), Session: session})
			return err
		}
		require.NoError(t, program("2", "second"))
		require.NoError(t, program("2", "second"), "the repeated request is the one that waits")
		require.ErrorIs(t, program("3", "third"), request.ErrQueueFull)
		require.ErrorIs(t, program("4", strings.Repeat("x", 1001)), request.ErrTooLong)
		synctest.Wait()
		require.Empty(t, b.chat.texts("ann"))
		release()
		b.await(2)
		require.NoError(t, program("3", "third"))
	})
}
