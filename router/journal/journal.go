// Package journal stores what happens to deliveries: that a call to the platform follows, its receipt, and the end.
//
// A receipt is kept in memory until it is stored, however long that takes: without it, the message would be sent again. If its
// lane ends first, the [Keeper] stores it, or logs it if the process ends.
package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sluice/adapters"
	"sluice/internal/faultpoint"
	"sluice/internal/pause"
	"sluice/internal/telemetry"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Committer stores changes.
type Committer interface {
	// Commit applies a change in one durable transaction.
	Commit(ctx context.Context, change ledger.Change) error
}

// Journal stores what happens to deliveries. All fields are required. It is safe for concurrent use.
type Journal struct {
	Store    Committer
	Receipts *Receipts
	Decided  pause.Signal // raised when a question was sent: it may have been decided meanwhile
	Now      func() time.Time
	Log      *slog.Logger
	Metrics  *Metrics
}

// Move stores the new state of a delivery.
func (j *Journal) Move(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, judged ...sessions.AuditEntry) error {
	change := ledger.Change{Deliveries: []ledger.DeliveryMove{{From: from, Delivery: d}}, Change: sessions.Change{Audit: judged}}
	if err := j.Store.Commit(ctx, change); err != nil {
		return fmt.Errorf("store delivery as %s: %w", d.Status, err)
	}
	return nil
}

// Record stores the platform's answer: the delivery becomes d. It retries while the store fails, until the partition
// ends; after that the receipt stays in memory, for the keeper or this process's next turn on the lane.
func (j *Journal) Record(ctx context.Context, d ledger.Delivery) error {
	return j.RecordOr(ctx, d, d)
}

// RecordOr is Record with a different row in case it is stored late.
func (j *Journal) RecordOr(ctx context.Context, d, later ledger.Delivery) error {
	j.Receipts.Keep(later)
	for failures := 1; ; failures++ {
		if ctx.Err() != nil {
			d = later
		}
		settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), lanes.SettleTimeout)
		err := storeReceipt(settle, j.Store, d)
		cancel()
		if err == nil || errors.Is(err, sessions.ErrConflict) { // an earlier attempt was stored, or somebody has changed the row
			j.Receipts.Drop(d.ID)
			return err
		}
		if ctx.Err() != nil {
			j.Receipts.left.Raise()
			return err
		}
		j.Log.Error("receipt not stored", "delivery", string(d.ID), "err", err)
		_ = pause.Wait(ctx, lanes.OutagePause(failures)) // one more attempt follows when ctx ends
	}
}

// storeReceipt stores a delivery's row after the platform's answer. The answer is a fact, no matter who owns the partition
// now; but a row that another owner has written is left alone.
func storeReceipt(ctx context.Context, store Committer, d ledger.Delivery) error {
	from := ledger.DeliverySending
	if d.Status == ledger.DeliveryPreview {
		from = ledger.DeliveryPreview
	}
	move := func(late bool) error {
		return store.Commit(ctx, ledger.Change{Deliveries: []ledger.DeliveryMove{{From: from, Delivery: d, Late: late}}})
	}
	err := move(false)
	if errors.Is(err, sessions.ErrFenced) {
		err = move(true)
	}
	return err
}

// Sent stores that the platform has accepted the whole delivery.
func (j *Journal) Sent(ctx context.Context, d ledger.Delivery) error {
	d.Status, d.Finished, d.LastError = ledger.DeliverySent, j.Now(), ""
	if err := j.Record(ctx, d); err != nil {
		return err
	}
	faultpoint.Hit(faultpoint.SendAfterReceipt)
	if d.Asks != "" {
		j.Decided.Raise() // its question may have been decided during the send
	}
	j.Metrics.Deliveries.WithLabelValues(d.Route.Channel, string(ledger.DeliverySent)).Inc()
	telemetry.Observe(j.Metrics.DeliverySeconds, d.Finished.Sub(d.Created).Seconds(), telemetry.From(ctx).Text("sluice.delivery.status", string(ledger.DeliverySent)))
	return nil
}

// End ends a delivery without success. It stays listed until somebody retries or discards it.
func (j *Journal) End(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, status ledger.DeliveryStatus, why string, judged ...sessions.AuditEntry) error {
	d.Status, d.Finished, d.LastError = status, j.Now(), why
	change := ledger.Change{
		Deliveries: []ledger.DeliveryMove{{From: from, Delivery: d}},
		Change:     sessions.Change{Audit: append(judged, j.Audit(d, "delivery."+string(status), Trouble{d.Route.Channel, d.Route.Conversation, why, ""}))},
	}
	if err := lanes.Patiently(ctx, func() error { return j.Store.Commit(ctx, change) }); err != nil {
		return fmt.Errorf("store %s delivery: %w", status, err)
	}
	j.Log.Warn("message not delivered", "delivery", string(d.ID), "channel", d.Route.Channel, "status", string(status), "err", why)
	j.Metrics.Deliveries.WithLabelValues(d.Route.Channel, string(status)).Inc()
	return nil
}

// Discard ends the order to delete a message.
func (j *Journal) Discard(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, why string) error {
	d.Status, d.Finished, d.LastError = ledger.DeliveryDiscarded, j.Now(), why
	if err := j.Move(ctx, from, d); err != nil {
		return err
	}
	j.Metrics.Deliveries.WithLabelValues(d.Route.Channel, string(ledger.DeliveryDiscarded)).Inc()
	return nil
}

// HandBack queues a delivery again that was certainly not sent when its partition moves to another replica.
func (j *Journal) HandBack(d ledger.Delivery) error {
	ctx, cancel := context.WithTimeout(context.Background(), lanes.SettleTimeout)
	defer cancel()
	d.Status = ledger.DeliveryQueued
	j.Receipts.Keep(d)
	err := storeReceipt(ctx, j.Store, d)
	if err == nil || errors.Is(err, sessions.ErrConflict) {
		j.Receipts.Drop(d.ID)
		return err
	}
	j.Receipts.left.Raise()
	return err
}

// Moved stores that a conversation answered under a new id.
func (j *Journal) Moved(ctx context.Context, d *ledger.Delivery, m adapters.Migration) {
	alias := ledger.Alias{Channel: d.Route.Channel, Account: d.Route.Account, From: m.From, To: m.To}
	if err := j.Store.Commit(ctx, ledger.Change{Aliases: []ledger.Alias{alias}}); err != nil {
		j.Log.Error("new conversation id not stored", "channel", alias.Channel, "from", string(m.From), "to", string(m.To), "err", err)
	}
	d.Route.Conversation = m.To
}

// Audit is an entry of the audit trail about a delivery.
func (j *Journal) Audit(d ledger.Delivery, action string, detail any) sessions.AuditEntry {
	return sessions.AuditEntry{At: j.Now(), Actor: "gateway", Action: action, Object: string(d.ID), Session: d.Session, Label: d.Label, Detail: detail}
}

// Trouble is the detail of an entry in the audit trail about a delivery that did not go out.
type Trouble struct {
	Channel      string                  `json:"channel"`
	Conversation sessions.ConversationID `json:"conversation"`
	Error        string                  `json:"error"`
	Again        ledger.DeliveryID       `json:"again,omitempty"` // the delivery that repeats an unknown one
}
