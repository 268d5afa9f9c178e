package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// With scope global all people of an agent speak in one session, and each is answered where they spoke.
func TestGlobalScope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.Keyer.Global = true })
		first := b.hear(in("ann", "1", "from ann"))
		second := b.hear(inGroup("g", "bob", "1", "from bob", true))
		b.await(2)
		require.Equal(t, first.Session, second.Session)
		require.Equal(t, []string{"echo: from ann"}, b.chat.texts("ann"))
		require.Equal(t, []string{"echo: bob: from bob"}, b.chat.texts("g"))
		require.Equal(t, []string{"user: from ann", "assistant: echo: from ann", "user: bob: from bob", "assistant: echo: bob: from bob"}, b.thread(first.Session))
		require.Contains(t, b.tell("ann", "/status"), "`agent:main:main`")
		for _, name := range []string{"global", "main", "agent:main:main", string(first.Session)} {
			record, err := b.ResolveSession(t.Context(), name)
			require.NoError(t, err, name)
			require.Equal(t, first.Session, record.ID)
			require.NotContains(t, record.Key, "global")
		}
		_, err := b.ResolveSession(t.Context(), "unknown")
		require.ErrorContains(t, err, "reserved")
	})
}
