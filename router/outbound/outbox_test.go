package outbound

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/router/journal"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// rows is a store of which a test gives the answers. What it does not give must not be asked.
type rows struct {
	OutboxStore
	commit  func(ledger.DeliveryMove) error
	session func(sessions.ID) (sessions.Record, error)
	moved   []ledger.Delivery
}

func (s *rows) Commit(_ context.Context, c ledger.Change) error {
	for _, m := range c.Deliveries {
		if err := s.commit(m); err != nil {
			return err
		}
		s.moved = append(s.moved, m.Delivery)
	}
	return nil
}

func (s *rows) Session(_ context.Context, id sessions.ID) (sessions.Record, error) {
	return s.session(id)
}

// worker is the worker of a lane on a store.
func laneWorker(store *rows) *worker {
	s := &place.Settings{Keyer: sessions.Keyer{Scope: sessions.ScopePerPeer}}
	o := &Outbox{
		Store: store, Composer: &Composer{Settings: func() *place.Settings { return s }}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Journal: &journal.Journal{Store: store, Receipts: journal.NewReceipts(), Now: time.Now, Log: slog.New(slog.DiscardHandler)},
	}
	return o.worker(ownedLane(9))
}

// epochs gives partitions an epoch.
type epochs struct {
	ledger.Store
	epoch int64
}

func (e epochs) TakePartition(context.Context, int, string, int64) (int64, error) {
	return e.epoch, nil
}

func (epochs) WaitingLanes(context.Context, int) ([]sessions.Lane, error) { return nil, nil }

func (epochs) AbortsRequested(context.Context, int) ([]sessions.ID, error) { return nil, nil }

// ownedLane is a lane of a partition that this replica owns with an epoch. Its own goroutine does nothing.
func ownedLane(epoch int64) *lanes.Lane {
	got := make(chan *lanes.Lane, 1)
	all := lanes.New(lanes.Config{Store: epochs{epoch: epoch}, Owned: prometheus.NewGauge(prometheus.GaugeOpts{Name: "owned"}), Worker: func(lane *lanes.Lane) lanes.Turn {
		got <- lane
		return func() (lanes.Rest, error) { return lanes.Rest{}, nil }
	}})
	if err := all.Acquire(context.Background(), 1, 0); err != nil {
		panic(err)
	}
	all.Woken(1, "conversation")
	return <-got
}

// A lane that comes back to a delivery whose receipt it has in hand stores it, as the owner that it now is.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	kept := ledger.Delivery{ID: "dlv_1", Epoch: 7, Status: ledger.DeliverySent}
	row := ledger.Delivery{ID: "dlv_1", Status: ledger.DeliverySending}
	store := &rows{commit: func(m ledger.DeliveryMove) error {
		if m.Delivery.Epoch != 9 {
			return sessions.ErrFenced
		}
		return nil
	}}
	w := laneWorker(store)
	late, err := w.catchUp(t.Context(), row)
	require.NoError(t, err)
	require.False(t, late, "nothing is left to store")
	w.out.Journal.Receipts.Keep(kept)
	queued := row
	queued.Status = ledger.DeliveryQueued
	late, err = w.catchUp(t.Context(), queued)
	require.NoError(t, err)
	require.False(t, late, "the row is not in doubt")
	late, err = w.catchUp(t.Context(), row)
	require.NoError(t, err)
	require.True(t, late)
	require.Len(t, store.moved, 1)
	require.EqualValues(t, 9, store.moved[0].Epoch)
	_, left := w.out.Journal.Receipts.Of(row.ID)
	require.False(t, left)
}

// The gate reads the session of a delivery. Of deliveries without a session, only a message has that of its conversation.
func TestSessionOfADelivery(t *testing.T) {
	t.Parallel()
	record := sessions.Record{ID: "sess_1", Key: "agent:main:direct:ann"}
	store := &rows{session: func(id sessions.ID) (sessions.Record, error) {
		switch id {
		case record.ID:
			return record, nil
		case "sess_gone":
			return sessions.Record{}, sessions.ErrNotFound
		}
		return sessions.Record{}, errDisk
	}}
	w := laneWorker(store)
	for name, c := range map[string]struct {
		d    ledger.Delivery
		want sessions.Record
		err  error
	}{
		"a message of a session": {ledger.Delivery{Kind: ledger.KindMessage, Session: record.ID}, record, nil},
		"an answer":              {ledger.Delivery{Kind: ledger.KindReply, Session: record.ID}, record, nil},
		"of a session that went": {ledger.Delivery{Kind: ledger.KindReply, Session: "sess_gone"}, sessions.Record{}, nil},
		"a notice of none":       {ledger.Delivery{Kind: ledger.KindNotice}, sessions.Record{}, nil},
		"the database is away":   {ledger.Delivery{Kind: ledger.KindReply, Session: "sess_2"}, sessions.Record{}, errDisk},
	} {
		got, err := w.sessionOf(t.Context(), c.d)
		require.ErrorIs(t, err, c.err, name)
		require.Equal(t, c.want, got, name)
	}
}

// Waits double up to their bound.
func TestWaits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 9: 256 * time.Second, 10: 5 * time.Minute, 1000: 5 * time.Minute} {
		require.Equal(t, want, retryWait(n), n)
	}
}
