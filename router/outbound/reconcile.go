package outbound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/adapters"
	"sluice/internal/pause"
	"sluice/router/ledger"
)

const (
	// SettleAfter is how long a call whose answer was lost may still take effect; the platform is not asked earlier.
	SettleAfter   = 2 * time.Second
	lookupTimeout = 30 * time.Second // bound of one lookup
)

// The outcomes of a lookup, as the metric names them.
const (
	LookupPosted    = "posted"     // the message is there; its receipt was stored
	LookupNotPosted = "not_posted" // it is certainly not there; it is sent again
	LookupNoAnswer  = "no_answer"  // still unknown; looked up again
	lookupUndecided = "undecided"  // unknown when the delivery expired; it ended as unknown
)

// lookup says when a delivery's part is looked up next. It belongs to the lane; a new owner starts from the time of
// the intent.
type lookup struct {
	id       ledger.DeliveryID
	part     int
	failures int
	err      error // of the last lookup; nil before the first
	next     time.Time
}

// of reports whether the lookup is for the delivery's last sent part.
func (l lookup) of(d ledger.Delivery) bool { return l.id == d.ID && l.part == len(d.Receipts) }

// inDoubt reports whether a message without a receipt may be visible: a send whose answer was lost, or the preview of
// the answer.
func (w *worker) inDoubt(d ledger.Delivery) bool {
	return d.LostPreview != "" || d.Status == ledger.DeliverySending && !d.EditsPreview() && d.ID != w.unsent
}

// settle finds out whether a message was posted. The lane waits for it.
func (w *worker) settle(ctx context.Context, d ledger.Delivery) (time.Duration, error) {
	a, _ := w.out.Adapter(d.Route.Channel, d.Route.Account)
	r, ok := a.(adapters.Reconciler)
	switch {
	case !ok && d.LostPreview != "":
		return w.forgetPreview(ctx, d)
	case !ok:
		return w.markUnknown(ctx, d, errors.New("the process ended between the call and its response"))
	case !d.Expires.After(w.out.Now()):
		return 0, w.undecided(ctx, d, w.lookupError(d))
	}
	if wait := w.lookupIn(d); wait > 0 {
		return wait, nil
	}
	parts, err := partsOf(ctx, w.out.Store, &d, a)
	if err != nil {
		return 0, err
	}
	receipt, posted, err := w.lookUp(ctx, r, d, parts)
	switch {
	case err != nil:
		return w.notAnswered(ctx, d, adapters.AsFailure(err))
	case posted:
		w.out.Metrics.Lookups.WithLabelValues(d.Route.Channel, LookupPosted).Inc()
		return w.posted(ctx, d, receipt, len(parts))
	}
	w.out.Metrics.Lookups.WithLabelValues(d.Route.Channel, LookupNotPosted).Inc()
	return w.notPosted(ctx, d)
}

// lookupIn is how long to wait before the lookup.
func (w *worker) lookupIn(d ledger.Delivery) time.Duration {
	wait := min(d.SentAt.Add(SettleAfter).Sub(w.out.Now()), SettleAfter) // a clock that was set back must not extend the wait
	if w.look.of(d) {
		wait = w.look.next.Sub(w.out.Now())
	}
	return min(wait, d.Expires.Sub(w.out.Now()))
}

// lookupError returns why the lookup failed until the delivery expired.
func (w *worker) lookupError(d ledger.Delivery) error {
	if w.look.of(d) && w.look.err != nil {
		return w.look.err
	}
	return errors.New("it expired before the platform could be asked")
}

// lookUp asks the platform for the last sent message.
func (w *worker) lookUp(ctx context.Context, r adapters.Reconciler, d ledger.Delivery, parts []part) (adapters.Receipt, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if d.LostPreview != "" {
		return r.Reconcile(ctx, PreviewOf(d, d.LostPreview), d.SentAt)
	}
	return r.Reconcile(ctx, outboundOf(d, parts[len(d.Receipts)]), d.SentAt)
}

// posted stores the receipt that was found; the rest of the delivery is sent.
func (w *worker) posted(ctx context.Context, d ledger.Delivery, receipt adapters.Receipt, parts int) (time.Duration, error) {
	w.out.Log.Info("lost message found", "delivery", string(d.ID), "part", len(d.Receipts))
	from := d.Status
	receipt = receipt.Fit(w.out.Now())
	if receipt.Moved != nil {
		w.followMove(ctx, &d, *receipt.Moved)
	}
	d.LastError = ""
	if d.LostPreview != "" {
		d.PreviewID, d.LostPreview = receipt.MessageID, ""
		return time.Nanosecond, w.move(ctx, from, d)
	}
	d.Receipts = append(d.Receipts, receipt)
	if len(d.Receipts) == parts {
		return 0, w.sent(ctx, d)
	}
	d.Status, d.NextTry = ledger.DeliveryQueued, w.out.Now()
	return time.Nanosecond, w.record(ctx, d)
}

// notPosted queues a message that was certainly not posted: at once the first time, then with backoff, to spare a
// platform that drops everything.
func (w *worker) notPosted(ctx context.Context, d ledger.Delivery) (time.Duration, error) {
	from := d.Status
	if d.LostPreview != "" {
		d.LostPreview, d.SentAt = "", time.Time{}
		return time.Nanosecond, w.move(ctx, from, d)
	}
	wait := time.Nanosecond
	if d.Attempts++; d.Attempts > 1 {
		wait = retryWait(d.Attempts)
	}
	w.out.Log.Info("lost message was not posted", "delivery", string(d.ID), "part", len(d.Receipts), "attempts", d.Attempts, "retry_in", wait.String())
	d.Status, d.NextTry = ledger.DeliveryQueued, w.out.Now().Add(wait)
	return wait, w.record(ctx, d)
}

// notAnswered handles a failed lookup.
func (w *worker) notAnswered(ctx context.Context, d ledger.Delivery, f *adapters.Failure) (time.Duration, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx) // the next owner looks it up
	}
	w.out.Metrics.Lookups.WithLabelValues(d.Route.Channel, LookupNoAnswer).Inc()
	switch {
	case f.Kind == adapters.Unsupported && d.LostPreview != "":
		return w.forgetPreview(ctx, d)
	case f.Kind == adapters.Unsupported: // this message can't be looked up
		return w.markUnknown(ctx, d, f)
	case f.Kind == adapters.Permanent && d.LostPreview != "":
		return w.notPosted(ctx, d) // the conversation no longer exists, and the send will report that
	case f.Kind == adapters.Permanent:
		return 0, w.undecided(ctx, d, f)
	}
	if !w.look.of(d) {
		w.look = lookup{id: d.ID, part: len(d.Receipts)}
	}
	w.look.err = f
	w.look.failures++
	wait := max(f.RetryAfter, pause.Nth(SettleAfter, retryMax, w.look.failures))
	w.look.next = w.out.Now().Add(wait)
	w.out.Log.Info("lost message not looked up", "delivery", string(d.ID), "part", len(d.Receipts), "retry_in", wait.String(), "err", f.Error())
	return w.lookupIn(d), nil
}

// scheduleLookup leaves a delivery without a response in status sending, to be looked up.
func (w *worker) scheduleLookup(ctx context.Context, d ledger.Delivery, f *adapters.Failure) (time.Duration, error) {
	w.look = lookup{id: d.ID, part: len(d.Receipts), next: w.out.Now().Add(SettleAfter)}
	d.LastError = "it is not yet known whether it arrived; looking it up: " + f.Err.Error()
	if err := w.record(ctx, d); err != nil {
		return 0, err
	}
	return SettleAfter, nil
}

// undecided ends a delivery that may or may not have arrived. If the doubt is about the preview, the answer was not
// sent.
func (w *worker) undecided(ctx context.Context, d ledger.Delivery, cause error) error {
	w.out.Metrics.Lookups.WithLabelValues(d.Route.Channel, lookupUndecided).Inc()
	if d.LostPreview != "" {
		return w.close(ctx, d.Status, d, ledger.DeliveryExpired, "it is unknown whether its beginning is visible: "+cause.Error())
	}
	return w.close(ctx, d.Status, d, ledger.DeliveryUnknown, "it is unknown whether it arrived: "+cause.Error())
}

// forgetPreview gives up a preview that can't be looked up: it is listed as unknown, and the answer becomes a
// separate message.
func (w *worker) forgetPreview(ctx context.Context, d ledger.Delivery) (time.Duration, error) {
	shown := d
	shown.ID, shown.Idempotency, shown.Epoch, shown.Text, shown.LostPreview = ledger.NewDeliveryID(), "", 0, d.LostPreview, ""
	shown.Status, shown.Finished, shown.LastError = ledger.DeliveryUnknown, w.out.Now(), "unknown whether the beginning of the reply is visible"
	d.LostPreview = ""
	err := w.out.Store.Commit(ctx, ledger.Change{Deliver: []ledger.Delivery{shown}, Deliveries: []ledger.DeliveryMove{{From: d.Status, Delivery: d}}})
	if err != nil {
		return 0, fmt.Errorf("store lost preview: %w", err)
	}
	w.out.Metrics.Deliveries.WithLabelValues(d.Route.Channel, string(ledger.DeliveryUnknown)).Inc()
	return time.Nanosecond, nil
}
