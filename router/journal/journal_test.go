package journal

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/sessions"
)

var errDisk = errors.New("the disk is full")

// moves is a store that answers to each move of a delivery.
type moves func(ledger.DeliveryMove) error

func (m moves) Commit(_ context.Context, c ledger.Change) error { return m(c.Deliveries[0]) }

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
			store := moves(func(m ledger.DeliveryMove) error {
				require.Equal(t, ledger.DeliverySending, m.From)
				require.EqualValues(t, 7, m.Delivery.Epoch)
				require.Equal(t, tries > 0, m.Late, "after the fence it asks for none")
				tries++
				return c.stored[tries-1]
			})
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

// A delivery that is handed back is queued, and forgotten unless it could not be stored.
func TestHandBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		inHand bool
	}{"stored": {nil, false}, "moved by somebody": {sessions.ErrConflict, false}, "not stored": {errDisk, true}} {
		store := moves(func(m ledger.DeliveryMove) error {
			require.Equal(t, ledger.DeliveryQueued, m.Delivery.Status)
			return c.err
		})
		rows := &Journal{Store: store, Receipts: NewReceipts(), Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		require.ErrorIs(t, rows.HandBack(ledger.Delivery{ID: "dlv_1", Status: ledger.DeliverySending}), c.err, name)
		d, inHand := rows.Receipts.Of("dlv_1")
		require.Equal(t, c.inHand, inHand, name)
		require.Equal(t, c.inHand, len(rows.Receipts.left) == 1, "the keeper is told")
		if inHand {
			require.Equal(t, ledger.DeliveryQueued, d.Status)
		}
	}
}
