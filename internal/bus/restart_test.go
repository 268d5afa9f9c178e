package bus_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"sluice/internal/bus"
	"sluice/sessions"
)

// A restarted server has forgotten the stream. A reader from before must not be
// left waiting for numbers that will not come: it is ended, and resumes.
func TestFollowersAreEndedByAServerRestart(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	b, o := start(t, c.url(), "one"), newOwner("one", &board{owners: map[int]map[string]bool{}})
	require.NoError(t, b.Own(t.Context(), o))
	events, err := b.Follow(t.Context(), "sess_1", 0)
	require.NoError(t, err)
	for range 5 {
		b.Emit(sessions.Event{Session: "sess_1", Text: "before"})
	}
	var last uint64
	for range 5 {
		last = receive(t, events).Seq
	}
	c.stop()
	c.start()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range events {
		}
	}()
	receiveEnd(t, ended)

	resumed := follow(t, b, o, "sess_1", last)
	for range 10 { // more than were there before: old and new numbers would overlap
		b.Emit(sessions.Event{Session: "sess_1", Text: "after"})
	}
	for range 10 {
		e := receive(t, resumed)
		require.Equal(t, "after", e.Text, "a number from before the restart hides nothing that came after")
		require.Greater(t, e.Seq, last, "numbers grow over restarts")
	}
}

// follow follows as soon as the bus can: a refusal sets the repairer to work, and
// that lets the owner look at its rows when all is whole.
func follow(t *testing.T, b *bus.Bus, o *owner, id sessions.ID, after uint64) <-chan sessions.Event {
	t.Helper()
	var events <-chan sessions.Event
	until(t, func() bool {
		var err error
		events, err = b.Follow(t.Context(), id, after)
		return err == nil
	}, o)
	return events
}

// What the server has lost is made again even where the connection was never lost.
func TestLostStreamsAreMadeAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	b, o := start(t, c.url(), "one"), newOwner("one", &board{owners: map[int]map[string]bool{}})
	require.NoError(t, b.Own(t.Context(), o))
	until(t, func() bool { return o.count() == partitions }, o)

	conn, err := nats.Connect(c.url())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	require.NoError(t, js.DeleteStream(t.Context(), "SLUICE_EVENTS"))
	require.NoError(t, js.DeleteKeyValue(t.Context(), "SLUICE_LEASES"))

	until(t, func() bool {
		_, err := js.KeyValue(t.Context(), "SLUICE_LEASES")
		return err == nil
	}, o)
	events := follow(t, b, o, "sess_1", 0)
	b.Emit(sessions.Event{Session: "sess_1", Text: "again"})
	require.Equal(t, "again", receive(t, events).Text)
	until(t, func() bool { return o.count() == partitions }, o)
}

// panicky is an owner whose every callback panics once it has got its partition.
type panicky struct{ *owner }

func (p panicky) Woken(partition int, lane sessions.Lane) {
	p.owner.Woken(partition, lane)
	panic("woken")
}

func (p panicky) Stepped(partition int, text []byte, ack func()) {
	p.owner.Stepped(partition, text, ack)
	panic("stepped")
}

func (p panicky) Release(ctx context.Context, partition int) {
	p.owner.Release(ctx, partition)
	panic("released")
}

func (p panicky) Rescan(partition int) {
	p.owner.Rescan(partition)
	panic("rescanned")
}

var _ bus.Owner = panicky{}

func TestPanicsOfTheOwnerStayInside(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, url := range []string{"", c.url()} {
		b, o := start(t, url, "one"), newOwner("one", &board{owners: map[int]map[string]bool{}})
		require.NoError(t, b.Own(t.Context(), panicky{o}))
		until(t, func() bool { return o.count() == partitions }, o)
		b.Wake(1, "sess_1")
		require.Equal(t, sessions.Lane("sess_1"), receive(t, o.woken))
		b.Wake(1, "sess_2")
		require.Equal(t, sessions.Lane("sess_2"), receive(t, o.woken), "the next wake is still heard")
		if url != "" {
			c.stop()
			c.start()
			until(t, func() bool {
				o.mu.Lock()
				defer o.mu.Unlock()
				return o.scans > 1
			}, o)
		}
		b.Stop(t.Context())
		require.Zero(t, o.count())
	}
}

// The first replica after a restart must not take a lease that another one still relies on.
func TestRestartedServerGivesNoLeaseTwice(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	wire := newWire(t, c.port)
	watch := &board{owners: map[int]map[string]bool{}}
	first, one := start(t, wire.url(), "one"), newOwner("one", watch)
	require.NoError(t, first.Own(t.Context(), one))
	until(t, func() bool { return one.count() == partitions }, one)

	// The first replica does not see the server again; the second sees only the new one.
	wire.cut()
	c.stop()
	c.start()
	second, two := start(t, c.url(), "two"), newOwner("two", watch)
	require.NoError(t, second.Own(t.Context(), two))
	until(t, func() bool { return two.count() == partitions }, two)
	require.Empty(t, watch.double)
}

var errEnough = errors.New("enough")

// leaseOnce has a lease for a moment and returns the result.
func leaseOnce(t *testing.T, b *bus.Bus) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return b.Lease(ctx, "adapter.once", func() {}, func(context.Context) error { return errEnough })
}

func TestLeaseIsHeldAgainUntilItsHolderHasEnough(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", newCluster(t).url()} {
		b, times := start(t, url, "one"), 0
		err := b.Lease(t.Context(), "adapter.x", func() {}, func(context.Context) error {
			if times++; times < 2 {
				return nil
			}
			return errEnough
		})
		require.ErrorIs(t, err, errEnough)
		require.Equal(t, 2, times)
	}
}
