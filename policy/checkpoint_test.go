//go:build !mutants

package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy"
)

// No program can do without a checkpoint: only tests that are built with the tag mutants take one away.
func TestNoProgramSkipsACheckpoint(t *testing.T) {
	t.Parallel()
	for _, c := range []policy.Checkpoint{policy.CheckGate, policy.CheckSink, policy.CheckApprover, "", "none"} {
		require.False(t, c.Skipped(), c)
	}
}
