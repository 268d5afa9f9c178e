package outbound

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sluice/adapters"
	"sluice/internal/telemetry"
	"sluice/policy"
	"sluice/router/journal"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	laneBatch   = 32               // deliveries of a lane read at a time
	sendTimeout = 90 * time.Second // bound of one platform call; adapters have shorter ones
	retryMax    = 5 * time.Minute  // longest pause between two attempts, unless the platform asks for more
)

// OutboxStore is the part of the store that sending needs.
type OutboxStore interface {
	journal.Committer
	questionStore
	// Session reads a session.
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	// LaneDeliveries reads the deliveries of a lane that are queued or sending, in order of Seq, at most limit.
	LaneDeliveries(ctx context.Context, lane sessions.Lane, limit int) ([]ledger.Delivery, error)
	// MediaInfo reads a file's row without its content; ErrNotFound if retention has removed it.
	MediaInfo(ctx context.Context, id sessions.MediaID) (ledger.Media, error)
	// Media reads a file with its content; ErrNotFound if retention has removed it.
	Media(ctx context.Context, id sessions.MediaID) (ledger.Media, error)
}

// Outbox creates the workers that send. All fields but Speaker and Tracer are required.
type Outbox struct {
	Store    OutboxStore
	Composer *Composer
	Held     *HeldDeliveries
	Journal  *journal.Journal
	Lanes    Reserver
	Adapter  adapters.Finder
	Now      func() time.Time
	Log      *slog.Logger
	Metrics  *journal.Metrics
	Speaker  Speaker           // nil: replies are not spoken
	Tracer   *telemetry.Tracer // nil: deliveries are not traced
}

// Worker is the worker of a conversation's lane.
func (o *Outbox) Worker(lane *lanes.Lane) lanes.Turn {
	return o.worker(lane).turn
}

func (o *Outbox) worker(lane *lanes.Lane) *worker {
	return &worker{out: o, lane: lane, lost: settler{out: o}}
}

// worker sends the deliveries of one conversation one by one. Only its lane's goroutine uses it.
type worker struct {
	out  *Outbox
	lane *lanes.Lane
	// unsent is a delivery whose intent may or may not be stored: it was not sent, even if its row says sending.
	unsent ledger.DeliveryID
	lost   settler
}

// turn sends the due deliveries. A delivery that must wait holds up those behind it, to keep the conversation in
// order.
func (w *worker) turn() (lanes.Rest, error) {
	ctx := w.lane.Context()
	due, err := w.out.Store.LaneDeliveries(ctx, w.lane.Name, laneBatch)
	if err != nil {
		return lanes.Rest{}, fmt.Errorf("read lane: %w", err)
	}
	for _, d := range due {
		if w.lane.Stopping() {
			return lanes.Rest{}, nil
		}
		now := w.out.Now() // the first attempt does not wait, even if a clock was set back
		if wait := d.NextTry.Sub(now); wait > 0 && d.Attempts > 0 && d.Status == ledger.DeliveryQueued && d.Expires.After(now) {
			return lanes.Rest{Wait: min(wait, d.Expires.Sub(now))}, nil
		}
		if late, err := w.catchUp(ctx, d); late {
			return lanes.Rest{Again: true}, err
		}
		wait, err := traced(ctx, w, d)
		if err != nil || wait > 0 {
			return lanes.Rest{Wait: wait}, err
		}
	}
	return lanes.Rest{Again: len(due) == laneBatch}, nil
}

// deliver brings one delivery to a terminal status, or says how long it must wait.
func (w *worker) deliver(ctx context.Context, d ledger.Delivery) (time.Duration, error) {
	from := d.Status
	d.Epoch = w.lane.Epoch()
	if w.inDoubt(d) {
		return w.lost.settle(ctx, d)
	}
	if !d.Expires.After(w.out.Now()) {
		return 0, w.out.Journal.End(ctx, from, d, ledger.DeliveryExpired, "it expired before it could be sent")
	}
	if d.Withdraws() { // a deletion contains nothing to check
		a, _ := w.out.Adapter(d.Route.Channel, d.Route.Account)
		return w.takeBack(ctx, from, d, a)
	}
	switch late, err := w.tooLateToAsk(ctx, d); {
	case err != nil:
		return 0, err
	case late:
		return 0, w.out.Journal.Discard(ctx, from, d, "its question is already decided")
	}
	judged, err := w.judge(ctx, &d, nil)
	if err != nil {
		return 0, err
	}
	return w.follow(ctx, from, d, judged)
}

// inDoubt reports whether a message without a receipt may be visible: a send whose answer was lost, or the preview of
// the answer.
func (w *worker) inDoubt(d ledger.Delivery) bool {
	return d.LostPreview != "" || d.Status == ledger.DeliverySending && !d.EditsPreview() && d.ID != w.unsent
}

// follow does with a delivery what the gate has decided.
func (w *worker) follow(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, judged []sessions.AuditEntry) (time.Duration, error) {
	if d.Decision.Action == policy.Hold {
		return 0, w.hold(ctx, from, d, judged)
	}
	if !d.Decision.Passes() {
		return 0, w.blocked(ctx, from, d, judged)
	}
	a, ok := w.out.Adapter(d.Route.Channel, d.Route.Account)
	if !ok {
		return 0, w.out.Journal.End(ctx, from, d, ledger.DeliveryFailed, fmt.Sprintf(
			"no account %q on channel %q: add channels.%s.accounts.%s to the configuration, then retry it", d.Route.Account, d.Route.Channel, d.Route.Channel, d.Route.Account), judged...)
	}
	if d.Revises != "" {
		return w.revise(ctx, from, d, a, judged)
	}
	if d.Kind == ledger.KindVoice && len(d.Files) == 0 {
		if err := w.out.voiced(ctx, &d, a); err != nil {
			if ctx.Err() != nil || errors.Is(err, sessions.ErrUnavailable) {
				return 0, err
			}
			w.out.Log.Warn("reply not spoken", "delivery", string(d.ID), "session", string(d.Session), "err", err)
			return 0, w.out.Journal.End(ctx, from, d, ledger.DeliveryFailed, err.Error(), judged...)
		}
	}
	return w.send(ctx, from, d, a, judged)
}

// sessionOf is the session whose override and key the gate checks. If the conversation had no session when a message
// to it was queued, it is the conversation's current one.
func (w *worker) sessionOf(ctx context.Context, d ledger.Delivery) (sessions.Record, error) {
	switch {
	case d.Session == "" && d.Kind == ledger.KindMessage:
		return w.out.Composer.SessionAt(ctx, "", d.Route)
	case d.Session == "":
		return sessions.Record{}, nil
	}
	record, err := w.out.Store.Session(ctx, d.Session)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return record, fmt.Errorf("read session: %w", err)
	}
	return record, nil
}

// blocked records the gate's decision. If the flow check or a rule withholds a reply, a notice replaces it; a reply
// that the send policy forbids is dropped silently, as configured.
func (w *worker) blocked(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, judged []sessions.AuditEntry) error {
	change := ledger.Change{Change: sessions.Change{Audit: judged}}
	if w.out.Composer.deletable(d) {
		change.Deliver = append(change.Deliver, w.out.Composer.withdrawal(d))
		d.PreviewID = ""
	}
	d.Status, d.Finished, d.LastError = ledger.DeliveryBlocked, w.out.Now(), d.Decision.Reason
	change.Deliveries = []ledger.DeliveryMove{{From: from, Delivery: d}}
	if d.Kind == ledger.KindReply && !d.Decision.SendDenied() {
		change.Deliver = append(change.Deliver, w.out.Composer.WithheldNotice(d))
	}
	if err := w.out.Lanes.Commit(ctx, change); err != nil {
		return fmt.Errorf("store blocked delivery: %w", err)
	}
	w.out.Metrics.Deliveries.WithLabelValues(d.Route.Channel, string(ledger.DeliveryBlocked)).Inc()
	return nil
}

// catchUp stores a receipt from an earlier turn of this process. It returns false if no such receipt waits.
func (w *worker) catchUp(ctx context.Context, row ledger.Delivery) (bool, error) {
	d, ok := w.out.Journal.Receipts.Of(row.ID)
	if !ok || row.Status != ledger.DeliverySending {
		return false, nil
	}
	d.Epoch = w.lane.Epoch()
	return true, w.out.Journal.Record(ctx, d)
}
