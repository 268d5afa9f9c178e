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

// receiveEnd waits until a channel is closed.
func receiveEnd(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatal("it did not come to pass")
	}
}
