package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// Platforms deliver what was not confirmed in time once more: the word about a code counts once.
func TestPairingWordComesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, pairing)
		b.hear(in("ann", "1", "let me in"))
		wrong := in("owner", "2", "/pair approve WRONGONE")
		for range 12 { // more often than wrong codes are taken
			b.hear(wrong)
		}
		require.Equal(t, 1, b.audited("pairing.wrong"), "one wrong code, however often it came")

		right := in("owner", "3", "/pair approve "+b.code())
		for range 12 {
			got := b.hear(right)
			require.Contains(t, got.Notice, "may talk to me now")
		}
		synctest.Wait()
		require.Equal(t, 1, b.audited("pairing.wrong"), "the code that was right does not become wrong")
		require.Equal(t, 1, b.audited("pairing.approve"))
		require.Len(t, b.chat.texts("ann"), 2, "the code, and once that she is admitted")
	})
}
