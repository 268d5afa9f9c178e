package outbound

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
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

// owner owns all partitions or none.
type owner struct {
	owns bool
	wake func()
}

func (o owner) Owns(int) bool           { return o.owns }
func (o owner) Wake(int, sessions.Lane) { o.wake() }

// What a lane has not stored yet is stored later, even if the partition has another owner by then. A lane that still has
// its owner here stores it itself.
func TestKeeperStoresWhatIsLeft(t *testing.T) {
	t.Parallel()
	kept := ledger.Delivery{ID: "dlv_1", Partition: 1, Epoch: 7, Status: ledger.DeliverySent, Receipts: []adapters.Receipt{{MessageID: "1"}}}
	for name, c := range map[string]struct {
		owned  bool
		stored []error // of the tries
		left   bool
		inHand bool
		woken  bool
	}{
		"its partition is another's":   {false, []error{nil}, false, false, true},
		"another epoch":                {false, []error{sessions.ErrFenced, nil}, false, false, true},
		"somebody has moved it":        {false, []error{sessions.ErrConflict}, false, false, true},
		"the database is away":         {false, []error{errDisk}, true, true, false},
		"the database is away, fenced": {false, []error{sessions.ErrFenced, errDisk}, true, true, false},
		"its lane does it":             {true, nil, false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries, woken := 0, false
			store := &rows{commit: func(m ledger.DeliveryMove) error {
				require.Equal(t, ledger.DeliverySending, m.From)
				require.EqualValues(t, 7, m.Delivery.Epoch)
				require.Equal(t, tries > 0, m.Late, "after the fence it asks for none")
				tries++
				return c.stored[tries-1]
			}}
			k := Keeper{Store: store, Receipts: NewReceipts(), Lanes: owner{c.owned, func() { woken = true }}}
			k.Receipts.Keep(kept)
			require.Equal(t, c.left, k.storeLeft(t.Context()))
			require.Len(t, c.stored, tries)
			_, inHand := k.Receipts.Of(kept.ID)
			require.Equal(t, c.inHand, inHand)
			require.Equal(t, c.woken, woken)
		})
	}
}

// A receipt is forgotten when it is stored, but not the one that has come after it.
func TestDropSame(t *testing.T) {
	t.Parallel()
	d := ledger.Delivery{ID: "dlv_1", Status: ledger.DeliverySent, Attempts: 1, Receipts: make([]adapters.Receipt, 1)}
	for name, change := range map[string]func(*ledger.Delivery){
		"": func(*ledger.Delivery) {}, "another status": func(d *ledger.Delivery) { d.Status = ledger.DeliveryQueued },
		"another try": func(d *ledger.Delivery) { d.Attempts++ }, "another piece": func(d *ledger.Delivery) { d.Receipts = make([]adapters.Receipt, 2) },
	} {
		r, later := NewReceipts(), d
		change(&later)
		r.Keep(later)
		r.dropSame(d)
		_, kept := r.Of(d.ID)
		require.Equal(t, name != "", kept, name)
	}
}

// worker is the worker of a lane on a store.
func laneWorker(store *rows) *worker {
	s := &place.Settings{Keyer: sessions.Keyer{Scope: sessions.ScopePerPeer}}
	return &worker{
		out: &Outbox{
			Store: store, Composer: &Composer{Settings: func() *place.Settings { return s }}, Receipts: NewReceipts(), Now: time.Now, Log: slog.New(slog.DiscardHandler),
		},
		lane: ownedLane(9),
	}
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
	w.out.Receipts.Keep(kept)
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
	require.Empty(t, w.out.Receipts.all())
}

// A delivery that is handed back is queued, and forgotten unless it could not be stored.
func TestHandBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		inHand bool
	}{"stored": {nil, false}, "moved by somebody": {sessions.ErrConflict, false}, "not stored": {errDisk, true}} {
		store := &rows{commit: func(m ledger.DeliveryMove) error {
			require.Equal(t, ledger.DeliveryQueued, m.Delivery.Status)
			return c.err
		}}
		w := laneWorker(store)
		require.ErrorIs(t, w.handBack(ledger.Delivery{ID: "dlv_1", Status: ledger.DeliverySending}), c.err, name)
		d, inHand := w.out.Receipts.Of("dlv_1")
		require.Equal(t, c.inHand, inHand, name)
		require.Equal(t, c.inHand, len(w.out.Receipts.left) == 1, "the keeper is told")
		if inHand {
			require.Equal(t, ledger.DeliveryQueued, d.Status)
		}
	}
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
