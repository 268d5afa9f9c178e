package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/policy"
)

// An answer that is given to who waits for it over the API passes the gate as its delivery does.
func TestWhoWaitsIsToldWhatMayLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		run := b.ended(b.hear(in("owner", "1", "hello")).Run)
		require.NotEmpty(t, run.Reply)
		told, err := b.Told(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, run.Reply, told)
		b.gate.mu.Lock()
		b.gate.forbid = func(policy.Egress) *policy.Decision {
			return &policy.Decision{Action: policy.Block, Rules: []policy.Looked{{Rule: "policy.rules.r"}}}
		}
		b.gate.mu.Unlock()
		told, err = b.Told(t.Context(), run)
		require.NoError(t, err)
		require.Empty(t, told)
	})
}
