package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// What is said behind a command that waits its turn is not heard before it: /undo took back what was said after it.
func TestSteerOvertakesNoCommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withMode(sessions.QueueSteer))
		release := b.listening()
		first := b.hear(in("ann", "1", "one"))
		synctest.Wait()
		b.hear(in("ann", "2", "/undo"))
		b.hear(in("ann", "3", "two"))
		release()
		b.await(3)
		synctest.Wait()
		require.Equal(t, []string{"user: two", "assistant: answer to two"}, b.thread(first.Session))
	})
}
