package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A sub-agent's session that is started over is still that of a sub-agent: what bounds its tools and calls is who has started it.
func TestResetOfASubAgentKeepsItsBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t)
		ann := k.session("ann")
		x := k.over(k.spawn(ann, "prices").ID)
		fresh, err := k.ResetSession(t.Context(), x.Target.Session, "operator")
		require.NoError(t, err)
		require.Equal(t, ann.ID, fresh.SpawnedBy)
	})
}
