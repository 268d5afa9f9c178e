package bus_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who waits for a lease hears what its holder says with it.
func TestTheHolderOfALeaseIsHeard(t *testing.T) {
	t.Parallel()
	url := newCluster(t).url()
	none := &board{owners: map[int]map[string]bool{}}
	holder, waiter := start(t, url, "one"), start(t, url, "two")
	require.NoError(t, holder.Own(t.Context(), newOwner("one", none))) // leases are renewed from now on
	ctx, end := context.WithCancel(t.Context())
	held, tries, ended := make(chan struct{}), make(chan struct{}), make(chan error, 2)
	go func() {
		ended <- holder.Lease(ctx, "adapter.x", func() {}, func(ctx context.Context) error {
			close(held)
			<-ctx.Done()
			return nil
		})
	}()
	receiveEnd(t, held)
	standby := func() {
		select {
		case tries <- struct{}{}:
		case <-ctx.Done():
		}
	}
	go func() {
		ended <- waiter.Lease(ctx, "adapter.x", standby, func(context.Context) error { return nil })
	}()
	receive(t, tries)
	require.Empty(t, waiter.Said("adapter.x"))
	holder.Say("adapter.x", "it is deaf")
	for waiter.Said("adapter.x") == "" {
		receive(t, tries)
	}
	require.Equal(t, "it is deaf", waiter.Said("adapter.x"))
	holder.Say("adapter.x", "")
	for waiter.Said("adapter.x") != "" {
		receive(t, tries)
	}
	end()
	require.NoError(t, receive(t, ended))
	require.NoError(t, receive(t, ended))
}
