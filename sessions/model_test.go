package sessions_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
)

type unclassified struct{ sessions.Model }

type classified struct {
	sessions.Model
	level flow.Level
}

func (c classified) Classification() flow.Level { return c.level }

func TestModelLevel(t *testing.T) {
	t.Parallel()
	require.Equal(t, flow.Confidential, sessions.ModelLevel(classified{level: flow.Confidential}))
	require.Equal(t, flow.Public, sessions.ModelLevel(unclassified{}), "it does not say")
	require.Equal(t, flow.Public, sessions.ModelLevel(classified{}), "what it says was lost")
}
