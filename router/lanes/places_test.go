package lanes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// As many tasks work at once as there are places; the lane that finds none is woken when one is free.
func TestPlacesOfTasks(t *testing.T) {
	t.Parallel()
	var all places
	require.True(t, all.enter("a", 1, 2))
	require.True(t, all.enter("b", 2, 2))
	require.False(t, all.enter("c", 3, 2))
	require.False(t, all.enter("d", 4, 2))
	require.True(t, all.enter("e", 5, 0), "no bound")
	require.Equal(t, map[sessions.Lane]int{"c": 3, "d": 4}, all.leave())
	require.False(t, all.enter("c", 3, 2), "two still work")
	require.Equal(t, map[sessions.Lane]int{"c": 3}, all.leave())
	require.True(t, all.enter("c", 3, 2))
	require.Empty(t, all.leave())
	require.Empty(t, all.leave())
	require.Zero(t, all.working)
}
