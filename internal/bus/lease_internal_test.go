package bus

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// free is a bucket in which nobody has a lease.
type free struct{ keyValues }

func (free) Create(context.Context, string, []byte, ...jetstream.KVCreateOpt) (uint64, error) {
	return 1, nil
}

// A replica whose connection was lost takes no lease before it knows how old the bucket is: the server may have restarted, and
// another replica may have made a new bucket while a third one still relies on its lease from before.
func TestNoLeaseFromAnUnknownBucket(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &leases{log: slog.New(slog.DiscardHandler), held: map[string]*lease{}}
		s.use(free{}, began)
		s.distrust()
		time.AfterFunc(10*time.Second, func() { s.use(free{}, time.Now().Add(leaseTrust)) })
		_, l := s.acquire(t.Context(), "account", func() {}, func(context.Context) bool { return true })
		require.NotNil(t, l)
		l.expiry.Stop()
		require.GreaterOrEqual(t, time.Since(began), 10*time.Second+leaseTrust)
	})
}
