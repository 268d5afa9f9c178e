package aside_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/aside"
)

// The work has ended when Do returns, and Do passes a panic on to its caller, who can recover from it.
func TestDo(t *testing.T) {
	t.Parallel()
	done := false
	aside.Do(func() { done = true })
	require.True(t, done)
	defer func() {
		err, ok := recover().(error)
		require.True(t, ok)
		require.ErrorContains(t, err, "it broke")
		require.ErrorContains(t, err, "aside_test.go", "its stack is kept")
	}()
	aside.Do(func() { panic("it broke") })
}

// Work that ends its goroutine has not been done.
func TestWorkThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	require.PanicsWithError(t, "the work ended its goroutine", func() { aside.Do(runtime.Goexit) })
}
