package router

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/policy"
)

// What rules are told of the steps behind the first, about which the tool was asked, is what their document lists.
func TestStepsAreWaysToInvoke(t *testing.T) {
	t.Parallel()
	for _, kind := range []announce.Kind{announce.Send, announce.Spawn} {
		for _, phase := range []announce.Phase{announce.Replying, announce.Announcing} {
			require.Contains(t, policy.InvocationKinds(), string(stepKind(kind, phase)), "%s %s", kind, phase)
		}
	}
}
