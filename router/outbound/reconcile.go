package outbound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/adapters"
	"sluice/internal/pause"
	"sluice/router/journal"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/router/place"
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

// settler finds out what became of the sends of one conversation whose answer was lost. The worker of the conversation has it.
type settler struct {
	out  *Outbox
	look lookup
}

// of reports whether the lookup is for the delivery's last sent part.
func (l lookup) of(d ledger.Delivery) bool { return l.id == d.ID && l.part == len(d.Receipts) }

// settle finds out whether a message was posted. The lane waits for it.
func (s *settler) settle(ctx context.Context, d ledger.Delivery) (time.Duration, error) {
	a, _ := s.out.Adapter(d.Route.Channel, d.Route.Account)
	r, ok := a.(adapters.Reconciler)
	switch {
	case !ok && d.LostPreview != "":
		return s.forgetPreview(ctx, d)
	case !ok:
		return s.markUnknown(ctx, d, errors.New("the process ended between the call and its response"))
	case !d.Expires.After(s.out.Now()):
		return 0, s.undecided(ctx, d, s.lookupError(d))
	}
	if wait := s.lookupIn(d); wait > 0 {
		return wait, nil
	}
	parts, err := partsOf(ctx, s.out.Store, &d, a)
	if err != nil {
		return 0, err
	}
	receipt, posted, err := s.lookUp(ctx, r, d, parts)
	switch {
	case err != nil:
		return s.notAnswered(ctx, d, adapters.AsFailure(err))
	case posted:
		s.out.Metrics.Lookups.WithLabelValues(d.Route.Channel, LookupPosted).Inc()
		return s.posted(ctx, d, receipt, len(parts))
	}
	s.out.Metrics.Lookups.WithLabelValues(d.Route.Channel, LookupNotPosted).Inc()
	return s.notPosted(ctx, d)
}

// lookupIn is how long to wait before the lookup.
func (s *settler) lookupIn(d ledger.Delivery) time.Duration {
	wait := min(d.SentAt.Add(SettleAfter).Sub(s.out.Now()), SettleAfter) // a clock that was set back must not extend the wait
	if s.look.of(d) {
		wait = s.look.next.Sub(s.out.Now())
	}
	return min(wait, d.Expires.Sub(s.out.Now()))
}

// lookupError returns why the lookup failed until the delivery expired.
func (s *settler) lookupError(d ledger.Delivery) error {
	if s.look.of(d) && s.look.err != nil {
		return s.look.err
	}
	return errors.New("it expired before the platform could be asked")
}

// lookUp asks the platform for the last sent message.
func (s *settler) lookUp(ctx context.Context, r adapters.Reconciler, d ledger.Delivery, parts []part) (adapters.Receipt, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if d.LostPreview != "" {
		return r.Reconcile(ctx, PreviewOf(d, d.LostPreview), d.SentAt)
	}
	return r.Reconcile(ctx, outboundOf(d, parts[len(d.Receipts)]), d.SentAt)
}

// posted stores the receipt that was found; the rest of the delivery is sent.
func (s *settler) posted(ctx context.Context, d ledger.Delivery, receipt adapters.Receipt, parts int) (time.Duration, error) {
	s.out.Log.Info("lost message found", "delivery", string(d.ID), "part", len(d.Receipts))
	from := d.Status
	receipt = receipt.Fit(s.out.Now())
	if receipt.Moved != nil {
		s.out.Journal.Moved(ctx, &d, *receipt.Moved)
	}
	d.LastError = ""
	if d.LostPreview != "" {
		d.PreviewID, d.LostPreview = receipt.MessageID, ""
		return time.Nanosecond, s.out.Journal.Move(ctx, from, d)
	}
	d.Receipts = append(d.Receipts, receipt)
	if len(d.Receipts) == parts {
		return 0, s.out.Journal.Sent(ctx, d)
	}
	d.Status, d.NextTry = ledger.DeliveryQueued, s.out.Now()
	return time.Nanosecond, s.out.Journal.Record(ctx, d)
}

// notPosted queues a message that was certainly not posted: at once the first time, then with backoff, to spare a
// platform that drops everything.
func (s *settler) notPosted(ctx context.Context, d ledger.Delivery) (time.Duration, error) {
	from := d.Status
	if d.LostPreview != "" {
		d.LostPreview, d.SentAt = "", time.Time{}
		return time.Nanosecond, s.out.Journal.Move(ctx, from, d)
	}
	wait := time.Nanosecond
	if d.Attempts++; d.Attempts > 1 {
		wait = retryWait(d.Attempts)
	}
	s.out.Log.Info("lost message was not posted", "delivery", string(d.ID), "part", len(d.Receipts), "attempts", d.Attempts, "retry_in", wait.String())
	d.Status, d.NextTry = ledger.DeliveryQueued, s.out.Now().Add(wait)
	return wait, s.out.Journal.Record(ctx, d)
}

// notAnswered handles a failed lookup.
func (s *settler) notAnswered(ctx context.Context, d ledger.Delivery, f *adapters.Failure) (time.Duration, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx) // the next owner looks it up
	}
	s.out.Metrics.Lookups.WithLabelValues(d.Route.Channel, LookupNoAnswer).Inc()
	switch {
	case f.Kind == adapters.Unsupported && d.LostPreview != "":
		return s.forgetPreview(ctx, d)
	case f.Kind == adapters.Unsupported: // this message can't be looked up
		return s.markUnknown(ctx, d, f)
	case f.Kind == adapters.Permanent && d.LostPreview != "":
		return s.notPosted(ctx, d) // the conversation no longer exists, and the send will report that
	case f.Kind == adapters.Permanent:
		return 0, s.undecided(ctx, d, f)
	}
	if !s.look.of(d) {
		s.look = lookup{id: d.ID, part: len(d.Receipts)}
	}
	s.look.err = f
	s.look.failures++
	wait := max(f.RetryAfter, pause.Nth(SettleAfter, retryMax, s.look.failures))
	s.look.next = s.out.Now().Add(wait)
	s.out.Log.Info("lost message not looked up", "delivery", string(d.ID), "part", len(d.Receipts), "retry_in", wait.String(), "err", f.Error())
	return s.lookupIn(d), nil
}

// scheduleLookup leaves a delivery without a response in status sending, to be looked up.
func (s *settler) scheduleLookup(ctx context.Context, d ledger.Delivery, f *adapters.Failure) (time.Duration, error) {
	s.look = lookup{id: d.ID, part: len(d.Receipts), next: s.out.Now().Add(SettleAfter)}
	d.LastError = "it is not yet known whether it arrived; looking it up: " + f.Err.Error()
	if err := s.out.Journal.Record(ctx, d); err != nil {
		return 0, err
	}
	return SettleAfter, nil
}

// undecided ends a delivery that may or may not have arrived. If the doubt is about the preview, the answer was not
// sent.
func (s *settler) undecided(ctx context.Context, d ledger.Delivery, cause error) error {
	s.out.Metrics.Lookups.WithLabelValues(d.Route.Channel, lookupUndecided).Inc()
	if d.LostPreview != "" {
		return s.out.Journal.End(ctx, d.Status, d, ledger.DeliveryExpired, "it is unknown whether its beginning is visible: "+cause.Error())
	}
	return s.out.Journal.End(ctx, d.Status, d, ledger.DeliveryUnknown, "it is unknown whether it arrived: "+cause.Error())
}

// forgetPreview gives up a preview that can't be looked up: it is listed as unknown, and the answer becomes a
// separate message.
func (s *settler) forgetPreview(ctx context.Context, d ledger.Delivery) (time.Duration, error) {
	shown := d
	shown.ID, shown.Idempotency, shown.Epoch, shown.Text, shown.LostPreview = ledger.NewDeliveryID(), "", 0, d.LostPreview, ""
	shown.Status, shown.Finished, shown.LastError = ledger.DeliveryUnknown, s.out.Now(), "unknown whether the beginning of the reply is visible"
	d.LostPreview = ""
	err := s.out.Store.Commit(ctx, ledger.Change{Deliver: []ledger.Delivery{shown}, Deliveries: []ledger.DeliveryMove{{From: d.Status, Delivery: d}}})
	if err != nil {
		return 0, fmt.Errorf("store lost preview: %w", err)
	}
	s.out.Metrics.Deliveries.WithLabelValues(d.Route.Channel, string(ledger.DeliveryUnknown)).Inc()
	return time.Nanosecond, nil
}

// markUnknown settles a send whose response was lost. The attempt is listed as unknown. If the channel is set to resend, the
// attempt gets its own row, and the delivery keeps its place in the conversation and sends the rest. It returns how
// long the lane must wait.
func (s *settler) markUnknown(ctx context.Context, d ledger.Delivery, cause error) (time.Duration, error) {
	if ctx.Err() != nil {
		fresh, cancel := context.WithTimeout(context.Background(), lanes.SettleTimeout)
		defer cancel()
		ctx = fresh
	}
	tried := d
	tried.Status, tried.Finished, tried.LastError = ledger.DeliveryUnknown, s.out.Now(), "it is unknown whether it arrived: "+cause.Error()
	change := ledger.Change{Deliveries: []ledger.DeliveryMove{{From: ledger.DeliverySending, Delivery: tried}}}
	wait, again := time.Duration(0), ledger.DeliveryID("")
	if s.out.Composer.Settings().Channels[d.Route.Channel].OnUnknown != place.UnknownHold {
		wait = time.Nanosecond // at once, but after reading the lane again
		if d.Attempts > 0 {
			wait = retryWait(d.Attempts + 1)
		}
		tried.ID, tried.Idempotency, tried.Epoch, tried.Asks = ledger.NewDeliveryID(), "", 0, ""
		d.Status, d.ResendOf, d.LastError, again = ledger.DeliveryQueued, tried.ID, "", d.ID
		d.Attempts++
		d.NextTry = s.out.Now().Add(wait)
		change.Deliver, change.Deliveries[0].Delivery = []ledger.Delivery{tried}, d
	}
	change.Audit = append(change.Audit, s.out.Journal.Audit(tried, "delivery.unknown", journal.Trouble{Channel: d.Route.Channel, Conversation: d.Route.Conversation, Error: tried.LastError, Again: again}))
	if err := s.out.Store.Commit(ctx, change); err != nil {
		return 0, fmt.Errorf("store unknown delivery: %w", err)
	}
	s.out.Metrics.Deliveries.WithLabelValues(d.Route.Channel, string(ledger.DeliveryUnknown)).Inc()
	return wait, nil
}
