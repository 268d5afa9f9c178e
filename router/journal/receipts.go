package journal

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"sluice/internal/pause"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Receipts are platform answers that the store does not have yet, as the new rows of their deliveries. If the process
// lost one, the message would be sent again. Each lane has at most one. It is safe for concurrent use.
type Receipts struct {
	mu     sync.Mutex
	inHand map[ledger.DeliveryID]ledger.Delivery
	left   pause.Signal // signals that a lane has ended with an unstored receipt
}

// NewReceipts creates empty Receipts.
func NewReceipts() *Receipts {
	return &Receipts{inHand: map[ledger.DeliveryID]ledger.Delivery{}, left: pause.NewSignal()}
}

// Keep keeps the new state of a delivery until it is stored.
func (r *Receipts) Keep(d ledger.Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inHand[d.ID] = d
}

// Drop removes a stored receipt.
func (r *Receipts) Drop(id ledger.DeliveryID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.inHand, id)
}

// dropSame drops a receipt, unless the delivery has a newer one.
func (r *Receipts) dropSame(d ledger.Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.inHand[d.ID]; now.Status == d.Status && now.Attempts == d.Attempts && len(now.Receipts) == len(d.Receipts) {
		delete(r.inHand, d.ID)
	}
}

// Of is the new state of a delivery that the store does not have yet.
func (r *Receipts) Of(id ledger.DeliveryID) (ledger.Delivery, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.inHand[id]
	return d, ok
}

func (r *Receipts) all() []ledger.Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.inHand))
}

// keepEvery is the time between two attempts to store the receipts that lanes have left.
const keepEvery = 500 * time.Millisecond

// Keeper stores the receipts left by lanes whose partitions this process no longer owns: their next owner would
// otherwise look the messages up, or send them again. Its goroutine is that of the caller of [Keeper.Run].
type Keeper struct {
	Store    Committer
	Receipts *Receipts
	Lanes    Owner
	Log      *slog.Logger
}

// Run waits for left receipts and stores them, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.Receipts.left:
		}
		for k.storeLeft(ctx) && pause.Wait(ctx, keepEvery) == nil {
		}
	}
}

// storeLeft tries once to store the left receipts; it reports whether any remain.
func (k *Keeper) storeLeft(ctx context.Context) (left bool) {
	for _, d := range k.Receipts.all() {
		if k.Lanes.Owns(d.Partition) { // its lane stores it
			continue
		}
		settle, cancel := context.WithTimeout(ctx, lanes.SettleTimeout)
		err := storeReceipt(settle, k.Store, d)
		cancel()
		if err != nil && !errors.Is(err, sessions.ErrConflict) {
			left = true
			continue
		}
		k.Receipts.dropSame(d)
		k.Lanes.Wake(d.Partition, d.Lane)
	}
	return left
}

// StoreRest makes a last attempt to store the receipts when the process ends, and logs the rest.
func (k *Keeper) StoreRest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lanes.SettleTimeout)
	defer cancel()
	for _, d := range k.Receipts.all() {
		err := lanes.Patiently(ctx, func() error { return storeReceipt(ctx, k.Store, d) })
		k.Receipts.Drop(d.ID)
		if err == nil || errors.Is(err, sessions.ErrConflict) {
			continue
		}
		ids := make([]string, 0, len(d.Receipts)+1)
		for _, receipt := range d.Receipts {
			ids = append(ids, string(receipt.MessageID))
		}
		if d.PreviewID != "" {
			ids = append(ids, string(d.PreviewID))
		}
		k.Log.Error("the platform's response could not be stored before the process ended: the message may be sent again",
			"delivery", string(d.ID), "channel", d.Route.Channel, "account", d.Route.Account, "conversation", string(d.Route.Conversation),
			"thread", string(d.Route.Thread), "status", string(d.Status), "messages", ids, "sent_at", d.SentAt, "reason", err.Error())
	}
}

// Owner knows the partitions of this replica, see [lanes.Lanes].
type Owner interface {
	Owns(partition int) bool
	Wake(partition int, lane sessions.Lane)
}
