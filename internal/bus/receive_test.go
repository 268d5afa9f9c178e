package bus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// receive waits for one value; none within the patience is a failure, not a hang.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v, open := <-c:
		require.True(t, open, "the channel is closed")
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}
