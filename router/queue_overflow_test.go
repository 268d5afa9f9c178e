package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

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
