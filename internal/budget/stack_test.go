package budget

import (
	"context"
	"runtime"
	"runtime/metrics"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/internal/model/modeltest"
)

const (
	waitingRuns = 128
	// stackMax is how many bytes of stack a run that waits for its model may use, with its connection, and with the
	// fake provider's, which uses half of it. A run whose stack fits into 8 KiB, with what calls need for a moment, does
	// not get 16 KiB.
	stackMax = 12 << 10
)

// Thousands of runs wait for their models at once, and each keeps its stack meanwhile. The test is not parallel: the
// stacks are those of the process.
//
//nolint:paralleltest // it counts the stacks of the process
func TestStackOfARunThatWaits(t *testing.T) {
	if racing {
		t.Skip("the race detector makes frames larger")
	}
	t.Setenv("SLUICE_API_SPECS", "")
	g := newGateway(t, "", newMeter())
	g.say(telegramtest.Private(firstOf(0)), firstOf(0), "Hello", 1) // opens what all runs share
	g.models.Always(func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Latency: -1} })
	before := stacks()
	for n := range waitingRuns {
		g.chats.Say(telegramtest.Private(firstOf(n)), telegramtest.User{ID: firstOf(n), FirstName: "Ada"}, "Think!")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, g.models.AwaitWaiting(ctx, waitingRuns))
	each := (stacks() - before) / waitingRuns
	t.Logf("%d bytes of stack for each run", each)
	require.LessOrEqual(t, each, stackMax, "keep large values away from the calls between a run and its model: pass them by reference, or work in internal/aside")
}

// stacks is how many bytes of stack are in use, without what short calls, such as those that show typing, need in between.
func stacks() int {
	used := []metrics.Sample{{Name: "/gc/scan/stack:bytes"}}
	var all []uint64
	for range 5 {
		runtime.GC() // it measures them
		metrics.Read(used)
		all = append(all, used[0].Value.Uint64())
	}
	return int(slices.Min(all))
}
