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
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

const (
	laneBatch   = 32               // deliveries of a lane read at a time
	sendTimeout = 90 * time.Second // bound of one platform call; adapters have shorter ones
	retryMax    = 5 * time.Minute  // longest pause between two attempts, unless the platform asks for more
)

// OutboxStore is the part of the store that sending needs.
type OutboxStore interface {
	committer
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
	Receipts *Receipts
	Decided  Signal
	Lanes    Reserver
	Adapter  adapters.Finder
	Now      func() time.Time
	Log      *slog.Logger
	Metrics  *Metrics
	Speaker  Speaker           // nil: replies are not spoken
	Tracer   *telemetry.Tracer // nil: deliveries are not traced
}

// Worker is the worker of a conversation's lane.
func (o *Outbox) Worker(lane *lanes.Lane) lanes.Turn {
	w := &worker{out: o, lane: lane}
	return w.turn
}

// worker sends the deliveries of one conversation one by one. Only its lane's goroutine uses it.
type worker struct {
	out  *Outbox
	lane *lanes.Lane
	// unsent is a delivery whose intent may or may not be stored: it was not sent, even if its row says sending.
	unsent ledger.DeliveryID
	look   lookup
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
		return w.settle(ctx, d)
	}
	if !d.Expires.After(w.out.Now()) {
		return 0, w.close(ctx, from, d, ledger.DeliveryExpired, "it expired before it could be sent")
	}
	if d.Withdraws() { // a deletion contains nothing to check
		a, _ := w.out.Adapter(d.Route.Channel, d.Route.Account)
		return w.takeBack(ctx, from, d, a)
	}
	switch late, err := w.tooLateToAsk(ctx, d); {
	case err != nil:
		return 0, err
	case late:
		return 0, w.discard(ctx, from, d, "its question is already decided")
	}
	judged, err := w.judge(ctx, &d, nil)
	if err != nil {
		return 0, err
	}
	return w.follow(ctx, from, d, judged)
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
		return 0, w.close(ctx, from, d, ledger.DeliveryFailed, fmt.Sprintf(
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
			return 0, w.close(ctx, from, d, ledger.DeliveryFailed, err.Error(), judged...)
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

// markUnknown settles a send whose response was lost. The attempt is listed as unknown. If the channel is set to resend, the
// attempt gets its own row, and the delivery keeps its place in the conversation and sends the rest. It returns how
// long the lane must wait.
func (w *worker) markUnknown(ctx context.Context, d ledger.Delivery, cause error) (time.Duration, error) {
	if ctx.Err() != nil {
		fresh, cancel := context.WithTimeout(context.Background(), lanes.SettleTimeout)
		defer cancel()
		ctx = fresh
	}
	tried := d
	tried.Status, tried.Finished, tried.LastError = ledger.DeliveryUnknown, w.out.Now(), "it is unknown whether it arrived: "+cause.Error()
	change := ledger.Change{Deliveries: []ledger.DeliveryMove{{From: ledger.DeliverySending, Delivery: tried}}}
	wait, again := time.Duration(0), ledger.DeliveryID("")
	if w.out.Composer.Settings().Channels[d.Route.Channel].OnUnknown != place.UnknownHold {
		wait = time.Nanosecond // at once, but after reading the lane again
		if d.Attempts > 0 {
			wait = retryWait(d.Attempts + 1)
		}
		tried.ID, tried.Idempotency, tried.Epoch, tried.Asks = ledger.NewDeliveryID(), "", 0, ""
		d.Status, d.ResendOf, d.LastError, again = ledger.DeliveryQueued, tried.ID, "", d.ID
		d.Attempts++
		d.NextTry = w.out.Now().Add(wait)
		change.Deliver, change.Deliveries[0].Delivery = []ledger.Delivery{tried}, d
	}
	change.Audit = append(change.Audit, w.audit(tried, "delivery.unknown", trouble{d.Route.Channel, d.Route.Conversation, tried.LastError, again}))
	if err := w.out.Store.Commit(ctx, change); err != nil {
		return 0, fmt.Errorf("store unknown delivery: %w", err)
	}
	w.out.Metrics.Deliveries.WithLabelValues(d.Route.Channel, string(ledger.DeliveryUnknown)).Inc()
	return wait, nil
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

// close ends a delivery without success. It stays listed until somebody retries or discards it.
func (w *worker) close(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, status ledger.DeliveryStatus, why string, judged ...sessions.AuditEntry) error {
	d.Status, d.Finished, d.LastError = status, w.out.Now(), why
	change := ledger.Change{
		Deliveries: []ledger.DeliveryMove{{From: from, Delivery: d}},
		Change:     sessions.Change{Audit: append(judged, w.audit(d, "delivery."+string(status), trouble{d.Route.Channel, d.Route.Conversation, why, ""}))},
	}
	if err := lanes.Patiently(ctx, func() error { return w.out.Store.Commit(ctx, change) }); err != nil {
		return fmt.Errorf("store %s delivery: %w", status, err)
	}
	w.out.Log.Warn("message not delivered", "delivery", string(d.ID), "channel", d.Route.Channel, "status", string(status), "err", why)
	w.out.Metrics.Deliveries.WithLabelValues(d.Route.Channel, string(status)).Inc()
	return nil
}

// trouble is the detail of an entry in the audit trail about a delivery that did not go out.
type trouble struct {
	Channel      string                  `json:"channel"`
	Conversation sessions.ConversationID `json:"conversation"`
	Error        string                  `json:"error"`
	Again        ledger.DeliveryID       `json:"again,omitempty"` // the delivery that repeats an unknown one
}

func (w *worker) audit(d ledger.Delivery, action string, detail any) sessions.AuditEntry {
	return sessions.AuditEntry{At: w.out.Now(), Actor: "gateway", Action: action, Object: string(d.ID), Session: d.Session, Label: d.Label, Detail: detail}
}

func (w *worker) move(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, judged ...sessions.AuditEntry) error {
	change := ledger.Change{Deliveries: []ledger.DeliveryMove{{From: from, Delivery: d}}, Change: sessions.Change{Audit: judged}}
	if err := w.out.Store.Commit(ctx, change); err != nil {
		return fmt.Errorf("store delivery as %s: %w", d.Status, err)
	}
	return nil
}

// followMove stores that a conversation answered under a new id.
func (w *worker) followMove(ctx context.Context, d *ledger.Delivery, m adapters.Migration) {
	alias := ledger.Alias{Channel: d.Route.Channel, Account: d.Route.Account, From: m.From, To: m.To}
	if err := w.out.Store.Commit(ctx, ledger.Change{Aliases: []ledger.Alias{alias}}); err != nil {
		w.out.Log.Error("new conversation id not stored", "channel", alias.Channel, "from", string(m.From), "to", string(m.To), "err", err)
	}
	d.Route.Conversation = m.To
}
