package router

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

// receipts are what platforms have answered and the store has not yet: the deliveries as their rows are to become.
// A process that forgot one would send the message again. Each lane has at most one. It is safe for concurrent use.
type receipts struct {
	mu     sync.Mutex
	inHand map[ledger.DeliveryID]ledger.Delivery
	left   chan struct{} // capacity 1: a lane has ended with one in hand
}

func newReceipts() *receipts {
	return &receipts{inHand: map[ledger.DeliveryID]ledger.Delivery{}, left: make(chan struct{}, 1)}
}

// leave tells the keeper that a lane has ended, with a receipt in hand. It never waits.
func (r *receipts) leave() {
	select {
	case r.left <- struct{}{}:
	default: // it looks soon anyway
	}
}

func (r *receipts) keep(d ledger.Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inHand[d.ID] = d
}

func (r *receipts) drop(id ledger.DeliveryID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.inHand, id)
}

// dropSame drops a receipt, unless the delivery has got another one since.
func (r *receipts) dropSame(d ledger.Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.inHand[d.ID]; now.Status == d.Status && now.Attempts == d.Attempts && len(now.Receipts) == len(d.Receipts) {
		delete(r.inHand, d.ID)
	}
}

func (r *receipts) of(id ledger.DeliveryID) (ledger.Delivery, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.inHand[id]
	return d, ok
}

func (r *receipts) all() []ledger.Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.inHand))
}

// record stores what the platform answered: the delivery becomes d. It goes on while the store fails, until the
// partition ends; what is not stored by then stays in hand, for the keeper or this process's next turn on the lane.
func (w *outboxWorker) record(ctx context.Context, d ledger.Delivery) error {
	return w.recordOr(ctx, d, d)
}

// recordOr is record for a delivery that becomes another one if it is stored only later.
func (w *outboxWorker) recordOr(ctx context.Context, d, later ledger.Delivery) error {
	w.receipts.keep(later)
	for failures := 1; ; failures++ {
		if ctx.Err() != nil {
			d = later
		}
		settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), lanes.SettleTimeout)
		err := storeReceipt(settle, w.Router.store, d)
		cancel()
		if err == nil || errors.Is(err, sessions.ErrConflict) { // an earlier try was stored, or somebody has moved the row
			w.receipts.drop(d.ID)
			return err
		}
		if ctx.Err() != nil {
			w.receipts.leave()
			return err
		}
		w.log.Error("receipt not stored", "delivery", string(d.ID), "err", err)
		_ = lanes.Pause(ctx, lanes.OutagePause(failures)) // when ctx ends there is one more try
	}
}

// storeReceipt makes a delivery's row what the platform's answer has made of it. That is a fact, whoever owns the partition by
// now: a row that another owner has sent again since is left alone.
func storeReceipt(ctx context.Context, store ledger.Store, d ledger.Delivery) error {
	from := ledger.DeliverySending
	if d.Status == ledger.DeliveryPreview {
		from = ledger.DeliveryPreview
	}
	move := func(d ledger.Delivery) error {
		return store.Commit(ctx, ledger.Change{Deliveries: []ledger.DeliveryMove{{From: from, Delivery: d}}})
	}
	err := move(d)
	if errors.Is(err, sessions.ErrFenced) {
		d.Epoch = 0
		err = move(d)
	}
	return err
}

// catchUp stores a receipt that this process has had in hand since an earlier turn; false if it has none.
func (w *outboxWorker) catchUp(ctx context.Context, row ledger.Delivery) (bool, error) {
	d, ok := w.receipts.of(row.ID)
	if !ok || row.Status != ledger.DeliverySending {
		return false, nil
	}
	d.Epoch = w.lane.Epoch()
	return true, w.record(ctx, d)
}

// keepEvery is the time between two tries to store what lanes have left.
const keepEvery = 500 * time.Millisecond

// keeper stores the receipts that lanes have left in hand whose partitions this process does not own any more: their next owner
// would look the messages up, or send them again. Its goroutine is that of [Router.Start].
type keeper struct {
	store    ledger.Store
	receipts *receipts
	owned    func(partition int) bool
	wake     func(partition int, lane sessions.Lane)
}

// run waits for receipts that are left, and stores them, until ctx ends.
func (k *keeper) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.receipts.left:
		}
		for k.storeLeft(ctx) && lanes.Pause(ctx, keepEvery) == nil { // until none is left
		}
	}
}

// storeLeft tries once to store what is left; it reports whether some of it is left still.
func (k *keeper) storeLeft(ctx context.Context) (left bool) {
	for _, d := range k.receipts.all() {
		if k.owned(d.Partition) { // its lane does it
			continue
		}
		settle, cancel := context.WithTimeout(ctx, lanes.SettleTimeout)
		err := storeReceipt(settle, k.store, d)
		cancel()
		if err != nil && !errors.Is(err, sessions.ErrConflict) {
			left = true
			continue
		}
		k.receipts.dropSame(d)
		k.wake(d.Partition, d.Lane)
	}
	return left
}

// leaveReceipts makes a last try to store what is in hand when the process ends, and writes down the rest.
func (r *Router) leaveReceipts(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lanes.SettleTimeout)
	defer cancel()
	for _, d := range r.receipts.all() {
		err := lanes.Patiently(ctx, func() error { return storeReceipt(ctx, r.store, d) })
		r.receipts.drop(d.ID)
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
		r.log.Error("the platform's answer could not be stored before the end: what it has taken may be sent again",
			"delivery", string(d.ID), "channel", d.Route.Channel, "account", d.Route.Account, "conversation", string(d.Route.Conversation),
			"thread", string(d.Route.Thread), "status", string(d.Status), "messages", ids, "sent_at", d.SentAt, "reason", err.Error())
	}
}
