package work

import (
	"context"
	"errors"
	"time"

	"sluice/adapters"
	"sluice/internal/faultpoint"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

var errNotShown = errors.New("the gate forbids it")

// adopt takes over the preview of the run's previous worker. The preview belongs to the run that was the newest of
// the batch when the preview was first shown.
func (s *show) adopt(batch []sessions.Run) {
	row, err := ledger.Delivery{}, sessions.ErrNotFound
	for i := len(batch) - 1; i >= 0 && errors.Is(err, sessions.ErrNotFound); i-- {
		row, err = s.by.store.RunDelivery(s.ctx, batch[i].ID)
	}
	if err != nil {
		return // there was no preview, or the store fails, and then the run fails as well
	}
	row.Epoch = 0 // its lane's partition may differ from the session's
	if kept, ok := s.by.receipts.Of(row.ID); ok && row.PreviewID == "" {
		row.PreviewID = kept.PreviewID
	}
	s.row = &row
	if row.PreviewID == "" && !s.inDoubt() {
		s.lose(s.ctx, errors.New("the process ended between the call and its response"))
	}
}

// inDoubt reports whether a preview may be visible, and the platform can look it up.
func (s *show) inDoubt() bool {
	_, ok := s.adapter.(adapters.Reconciler)
	return ok && s.row != nil && s.row.PreviewID == "" && !s.row.SentAt.IsZero()
}

// settle asks the platform whether a preview in doubt is visible; false while that is unknown. The outbox asks again
// before it sends the answer.
func (s *show) settle(ctx context.Context) (bool, error) {
	if s.by.now().Sub(s.row.SentAt) < outbound.SettleAfter {
		return false, nil
	}
	receipt, posted, err := s.adapter.(adapters.Reconciler).Reconcile(ctx, s.outbound(s.row.Text), s.row.SentAt)
	if err != nil {
		s.by.sent.Lookups.WithLabelValues(s.row.Route.Channel, outbound.LookupNoAnswer).Inc()
		return false, err
	}
	if !posted {
		s.by.sent.Lookups.WithLabelValues(s.row.Route.Channel, outbound.LookupNotPosted).Inc()
		s.row.SentAt = time.Time{}
		return true, nil
	}
	s.by.sent.Lookups.WithLabelValues(s.row.Route.Channel, outbound.LookupPosted).Inc()
	return true, s.keepReceipt(ctx, receipt)
}

// lose gives up a preview that may or may not be visible: its delivery ends as unknown, and the answer becomes a
// separate message.
func (s *show) lose(ctx context.Context, cause error) {
	lost := *s.row
	lost.Status, lost.Finished, lost.LastError = ledger.DeliveryUnknown, s.by.now(), "it is unknown whether the beginning of the reply is visible: "+cause.Error()
	if err := s.by.store.Commit(ctx, ledger.Change{Deliveries: []ledger.DeliveryMove{{From: ledger.DeliveryPreview, Delivery: lost}}}); err != nil {
		s.by.log.Error("lost preview not stored", "delivery", string(lost.ID), "err", err)
		return // the preview stays and becomes the answer
	}
	s.row = nil
	s.by.sent.Deliveries.WithLabelValues(lost.Route.Channel, string(ledger.DeliveryUnknown)).Inc()
}

// preview shows the text so far, if the gate allows it; false if there is nothing new to show.
func (s *show) preview(ctx context.Context, text string) bool {
	editor, ok := s.adapter.(adapters.Editor)
	if !ok || s.off {
		return false
	}
	if text = firstChunk(s.adapter, text); len(text) < previewFirst || text == s.shown {
		return false
	}
	if s.row == nil && s.behind(ctx) {
		return false
	}
	shown, err := s.showText(ctx, editor, text)
	if err != nil {
		s.off = true // the final message follows anyway; a preview is never worth a retry
		s.by.log.Debug("preview not shown", "run", string(s.run.ID), "err", err)
	}
	if shown {
		s.shown = text
	}
	return shown
}

// showText shows the text in the preview; false while it is unknown whether the preview is visible.
func (s *show) showText(ctx context.Context, editor adapters.Editor, text string) (bool, error) {
	if s.inDoubt() {
		if settled, err := s.settle(ctx); !settled || err != nil {
			return false, err
		}
	}
	if s.row == nil || s.row.PreviewID == "" {
		return s.firstPreview(ctx, text)
	}
	err := editor.Edit(ctx, s.row.PreviewID, s.outbound(text))
	return err == nil, err
}

// behind reports whether deliveries are waiting in the conversation: a preview must not overtake them.
func (s *show) behind(ctx context.Context) bool {
	waiting, err := s.by.store.LaneDeliveries(ctx, s.run.Route.Lane(), 1)
	return err != nil || len(waiting) > 0
}

func firstChunk(a adapters.Adapter, text string) string {
	if splitter, ok := a.(adapters.Splitter); ok && text != "" {
		return splitter.Split(text)[0]
	}
	return text
}

func (s *show) outbound(text string) adapters.Outbound { return outbound.PreviewOf(*s.row, text) }

// firstPreview stores the delivery before the preview is sent, and the receipt after it; false unless the preview is
// certainly visible.
func (s *show) firstPreview(ctx context.Context, text string) (bool, error) {
	if err := s.intend(ctx, text); err != nil {
		return false, err
	}
	faultpoint.Hit(faultpoint.PreviewBeforeSend)
	receipt, err := s.adapter.Send(ctx, s.outbound(text))
	if err != nil {
		return false, s.notSent(ctx, err)
	}
	faultpoint.Hit(faultpoint.PreviewAfterSend)
	return true, s.keepReceipt(ctx, receipt)
}

// intend stores that the preview is about to be sent.
func (s *show) intend(ctx context.Context, text string) error {
	if s.row != nil {
		again := *s.row
		again.Text, again.SentAt = text, s.by.now()
		if err := s.by.store.Commit(ctx, ledger.Change{Deliveries: []ledger.DeliveryMove{{From: ledger.DeliveryPreview, Delivery: again}}}); err != nil {
			return err
		}
		s.row = &again
		return nil
	}
	d := s.by.composer.Delivery(ledger.KindReply, s.run.Route, text, s.taint())
	d.Session, d.Run, d.Status, d.SentAt = s.run.Session, s.run.ID, ledger.DeliveryPreview, s.by.now()
	e := s.egress()
	e.Partial, e.Effects, e.Text = true, true, text // a rule with a rate must count the answer only once
	if !s.lets(e) {
		return errNotShown
	}
	if err := s.by.store.Commit(ctx, ledger.Change{Deliver: []ledger.Delivery{d}}); err != nil {
		s.unclear = true // the row may be stored although the commit failed
		return err
	}
	s.row = &d
	return nil
}

// notSent handles a failed send of the first preview. A preview that may be visible is looked up before the next one
// if the platform can do that; otherwise it is given up.
func (s *show) notSent(ctx context.Context, err error) error {
	f := adapters.AsFailure(err)
	switch lost := f.Kind == adapters.Transient && !f.Certain; {
	case !lost:
		s.row.SentAt = time.Time{}
	case s.inDoubt():
		return nil
	default:
		s.lose(context.WithoutCancel(ctx), err)
	}
	return err
}

// keepReceipt stores which message shows the preview.
func (s *show) keepReceipt(ctx context.Context, receipt adapters.Receipt) error {
	s.row.PreviewID = receipt.Fit(s.by.now()).MessageID
	stored := *s.row
	s.by.receipts.Keep(stored) // if this commit fails, the receipt is stored with the answer
	err := s.by.store.Commit(ctx, ledger.Change{Deliveries: []ledger.DeliveryMove{{From: ledger.DeliveryPreview, Delivery: stored}}})
	if err == nil {
		s.by.receipts.Drop(stored.ID)
	}
	return err
}

// findIntent looks for the row of a preview that was not sent: if its intent is stored, the answer uses that row.
func (s *show) findIntent() {
	var row ledger.Delivery
	err := lanes.Patiently(s.ctx, func() (err error) {
		row, err = s.by.store.RunDelivery(s.ctx, s.run.ID)
		return err
	})
	if err != nil {
		return // the intent was not stored
	}
	row.Epoch, row.SentAt = 0, time.Time{}
	s.row = &row
}
