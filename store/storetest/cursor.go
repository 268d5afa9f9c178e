package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func testCursors(t *testing.T, b *bundle) {
	for _, c := range [][3]string{{"discord/a", "1", "10"}, {"discord/a", "1", "11"}, {"discord/a", "2", "5"}, {"discord/b", "1", "7"}} {
		require.NoError(t, b.SaveCursor(b.ctx, c[0], c[1], c[2]))
	}
	for account, want := range map[string]map[string]string{"discord/a": {"1": "11", "2": "5"}, "discord/b": {"1": "7"}, "discord/c": {}} {
		got, err := b.Cursors(b.ctx, account)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
