package outbound

import (
	"context"
	"errors"
	"time"

	"sluice/adapters"
	"sluice/internal/faultpoint"
	"sluice/internal/pause"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

// send posts the parts that the platform has not accepted yet: an intent before the first, a receipt after each.
func (w *worker) send(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, a adapters.Adapter, judged []sessions.AuditEntry) (time.Duration, error) {
	parts, err := partsOf(ctx, w.out.Store, &d, a)
	if err != nil {
		return 0, err
	}
	if err := w.intend(ctx, from, &d, judged...); err != nil {
		return 0, err
	}
	return w.postAll(ctx, d, a, parts)
}

// postAll posts the parts that the platform has not taken yet. The intent is stored.
func (w *worker) postAll(ctx context.Context, d ledger.Delivery, a adapters.Adapter, parts []part) (time.Duration, error) {
	faultpoint.Hit(faultpoint.SendAfterIntent)
	for i := len(d.Receipts); i < len(parts); i++ {
		if err := w.date(ctx, &d); err != nil {
			return 0, err
		}
		if ctx.Err() != nil || w.lane.Stopping() { // a call in progress gets time to end; the next one is begun by the next owner, because it would get less
			return 0, w.out.Journal.HandBack(d)
		}
		receipt, err := postTraced(ctx, w, a, &d, parts[i])
		if err != nil {
			return w.failed(ctx, a, d, adapters.AsFailure(err))
		}
		faultpoint.Hit(faultpoint.SendAfterCall)
		receipt = receipt.Fit(w.out.Now())
		if receipt.Moved != nil {
			w.out.Journal.Moved(ctx, &d, *receipt.Moved)
		}
		d.Receipts = append(d.Receipts, receipt)
		if i < len(parts)-1 {
			d.SentAt = w.out.Now()
			rest := d
			rest.Status, rest.NextTry = ledger.DeliveryQueued, d.SentAt // if this is stored late, the next part has not been tried
			if err := w.out.Journal.RecordOr(ctx, d, rest); err != nil {
				return 0, err
			}
			faultpoint.Hit(faultpoint.SendBetweenChunks)
		}
	}
	return 0, w.out.Journal.Sent(ctx, d)
}

// lateAfter is how old an intent may be when the platform is called: a lookup counts from its time.
const lateAfter = SettleAfter / 2

// late reports whether an intent became too old while it was stored, because the database was slow or unavailable.
func (w *worker) late(d ledger.Delivery) bool { return w.out.Now().Sub(d.SentAt) > lateAfter }

// date stores a late intent again, with the present time. If the partition has moved in the meantime, the next owner
// sends the part.
func (w *worker) date(ctx context.Context, d *ledger.Delivery) error {
	for w.late(*d) {
		err := w.intend(ctx, ledger.DeliverySending, d)
		if errors.Is(err, sessions.ErrFenced) {
			return errors.Join(err, w.out.Journal.HandBack(*d))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// intend stores that a platform call follows, with the gate's decision.
func (w *worker) intend(ctx context.Context, from ledger.DeliveryStatus, d *ledger.Delivery, judged ...sessions.AuditEntry) error {
	d.Status, d.SentAt = ledger.DeliverySending, w.out.Now()
	faultpoint.Hit(faultpoint.SendBeforeIntent)
	w.unsent = d.ID
	if err := w.out.Journal.Move(ctx, from, *d, judged...); err != nil {
		if ctx.Err() != nil {
			return errors.Join(err, w.out.Journal.HandBack(*d)) // the next owner must not assume that it may have been sent
		}
		return err
	}
	w.unsent = ""
	return nil
}

// post sends one part; the first part replaces the text of the preview, if there is one.
func (w *worker) post(ctx context.Context, a adapters.Adapter, d *ledger.Delivery, p part) (adapters.Receipt, error) {
	ctx, end := lanes.UntilAnswered(ctx, sendTimeout)
	defer end()
	out := outboundOf(*d, p)
	if p.file != "" {
		return w.postFile(ctx, a, out, *d, p.file)
	}
	editor, ok := a.(adapters.Editor)
	if p.index > 0 || d.PreviewID == "" || !ok {
		return a.Send(ctx, out)
	}
	faultpoint.Hit(faultpoint.PreviewBeforeFinal)
	err := editor.Edit(ctx, d.PreviewID, out)
	if f := adapters.AsFailure(err); err != nil && (f.Kind == adapters.Permanent || f.Kind == adapters.Unsupported) {
		// Somebody deleted the preview. From here on a repetition would be visible, so the row must not say that it
		// is an edit.
		d.PreviewID, d.SentAt = "", w.out.Now()
		if err := w.out.Journal.Record(ctx, *d); err != nil {
			return adapters.Receipt{}, &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: err}
		}
		return a.Send(ctx, out)
	} else if err != nil {
		again := *f
		again.Certain = true // repeating an edit is harmless
		return adapters.Receipt{}, &again
	}
	return adapters.Receipt{MessageID: d.PreviewID, At: w.out.Now()}, nil
}

// failed handles a failed call.
func (w *worker) failed(ctx context.Context, a adapters.Adapter, d ledger.Delivery, f *adapters.Failure) (time.Duration, error) {
	if ctx.Err() != nil && f.Certain {
		return 0, w.out.Journal.HandBack(d)
	}
	w.out.Metrics.Failures.WithLabelValues(d.Route.Channel, string(f.Kind)).Inc()
	d.LastError = f.Error()
	switch {
	case f.Final():
		return 0, w.out.Journal.End(ctx, ledger.DeliverySending, d, ledger.DeliveryFailed, f.Error())
	case f.Kind == adapters.Transient && !f.Certain:
		if _, ok := a.(adapters.Reconciler); ok {
			return w.lost.scheduleLookup(ctx, d, f)
		}
		return w.lost.markUnknown(ctx, d, f.Err)
	}
	d.Attempts++
	wait := max(f.RetryAfter, retryWait(d.Attempts))
	if f.Kind == adapters.RateLimited && f.RetryAfter > 0 {
		wait = f.RetryAfter
	}
	d.Status, d.NextTry = ledger.DeliveryQueued, w.out.Now().Add(wait)
	w.out.Log.Info("delivery waits", "delivery", string(d.ID), "piece", len(d.Receipts), "attempts", d.Attempts, "retry_in", wait.String(), "err", f.Error())
	if err := w.out.Journal.Record(ctx, d); err != nil {
		return 0, err
	}
	return wait, nil
}

// retryWait is the pause before the next attempt.
func retryWait(attempts int) time.Duration { return pause.Nth(time.Second, retryMax, attempts) }
