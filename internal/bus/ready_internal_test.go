package bus

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A gateway is ready while its embedded server starts for somebody who follows a session, however long that takes.
func TestReadyWhileTheEmbeddedServerStarts(t *testing.T) {
	t.Parallel()
	b := &Bus{ctx: context.Background()}
	b.embedding.Lock() // as embed does
	defer b.embedding.Unlock()
	ready := make(chan error, 1)
	go func() { ready <- b.Ready() }()
	select {
	case err := <-ready:
		require.NoError(t, err)
	case <-time.After(5 * time.Second):
		require.Fail(t, "Ready waits for the server")
	}
}
