package router

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"sluice/adapters"
	"sluice/internal/faultpoint"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

const (
	showDelay    = 500 * time.Millisecond // an answer that is faster shows no typing
	typingEvery  = 4 * time.Second        // platforms end it by themselves after about five
	previewCall  = 15 * time.Second       // bound of one platform call for a preview
	previewFirst = 20                     // characters before a preview is worth showing
)

// show lets people see that a run works: live events, typing, and on platforms
// that can edit a preview that becomes the final message. All of it stops at
// close. A timer fires tick now and then; tick and close exclude each other by work.
type show struct {
	r       *Router
	ctx     context.Context
	run     *sessions.Run    // whose route the answer takes
	record  *sessions.Record // as it was when the run began
	taint   func() flow.Label
	allowed bool // the gate lets the answer out, as far as can be told before it is written
	adapter adapters.Adapter
	pieces  pieces // of the text, on their way to those who follow the session

	mu     sync.Mutex
	text   strings.Builder
	closed bool
	timer  *time.Timer

	work       sync.Mutex // held while the platform is called; guards what follows
	row        *Delivery  // the preview's delivery; nil until it was stored
	shown      string
	off        bool // no preview in this run any more
	lastTyping time.Time
	every      time.Duration
}

func (w *sessionWorker) newShow(ctx context.Context, j *job) *show {
	run := &j.batch[len(j.batch)-1]
	s := &show{r: w.Router, ctx: ctx, run: run, record: &j.record, taint: j.session.Taint, every: typingEvery}
	s.pieces.publish = s.publish
	s.allowed = s.permitted()
	if run.Route.IsZero() || run.Kind.Step() {
		s.allowed = s.allowed && !run.Kind.Step() // what agents say to each other is shown when it is done, if at all
		return s
	}
	a, ok := w.adapter(run.Route.Channel, run.Route.Account)
	if !ok {
		return s
	}
	s.adapter = a
	if p, ok := a.(adapters.Previewer); ok {
		s.every = min(s.every, p.PreviewEvery())
	} else {
		s.off = true
	}
	if j.resumed {
		s.adopt()
	}
	return s
}

// begin sets the timer for the first sign of life, where the platform can show one.
func (s *show) begin() {
	if s.adapter == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, typer := s.adapter.(adapters.Typer); typer || !s.off {
		s.timer = time.AfterFunc(showDelay, s.tick)
	}
}

// adopt takes over the preview that the run's last worker left.
func (s *show) adopt() {
	row, err := s.r.store.RunDelivery(s.ctx, s.run.ID)
	if err != nil {
		return // none, or the store fails and the run with it
	}
	row.Epoch = 0 // its lane's partition may be another than the session's
	s.row = &row
	if row.PreviewID == "" && !s.inDoubt() {
		s.lose(s.ctx, errors.New("the process ended between the call and its answer"))
	}
}

// inDoubt reports whether a preview may show that the platform can be asked for.
func (s *show) inDoubt() bool {
	_, ok := s.adapter.(adapters.Reconciler)
	return ok && s.row != nil && s.row.PreviewID == "" && !s.row.SentAt.IsZero()
}

// settle looks the preview up of which it is not known whether it shows; false
// while it is not. What it leaves open the outbox settles before it sends the answer.
func (s *show) settle(ctx context.Context) (bool, error) {
	if s.r.now().Sub(s.row.SentAt) < settleAfter {
		return false, nil
	}
	receipt, posted, err := s.adapter.(adapters.Reconciler).Reconcile(ctx, s.outbound(s.row.Text), s.row.SentAt)
	if err != nil {
		s.r.metrics.lookups.WithLabelValues(s.row.Route.Channel, lookupNoAnswer).Inc()
		return false, err
	}
	if !posted {
		s.r.metrics.lookups.WithLabelValues(s.row.Route.Channel, lookupNotPosted).Inc()
		s.row.SentAt = time.Time{}
		return true, nil
	}
	s.r.metrics.lookups.WithLabelValues(s.row.Route.Channel, lookupPosted).Inc()
	return true, s.keepReceipt(ctx, receipt)
}

// lose gives up a preview that may or may not show: its delivery ends as
// unknown, and the answer will be a message of its own.
func (s *show) lose(ctx context.Context, cause error) {
	lost := *s.row
	lost.Epoch = 0 // its lane's partition may be another than the session's
	lost.Status, lost.Finished, lost.LastError = DeliveryUnknown, s.r.now(), "not known whether the beginning of the answer shows: "+cause.Error()
	if err := s.r.store.Commit(ctx, Change{Deliveries: []DeliveryMove{{From: DeliveryPreview, Delivery: lost}}}); err != nil {
		s.r.log.Error("lost preview not stored", "delivery", string(lost.ID), "err", err)
		return // it stays what it is and becomes the answer
	}
	s.row = nil
	s.r.metrics.deliveries.WithLabelValues(lost.Route.Channel, string(DeliveryUnknown)).Inc()
}

// permitted asks the gate whether the answer may be shown while it is written.
func (s *show) permitted() bool {
	return s.r.gate.Decide(policy.Egress{
		Label: s.taint(), Route: s.run.Route, Agent: s.record.Agent, Kind: string(KindReply),
		Key: s.record.Key, Override: s.record.SendPolicy,
	}).Action == policy.Allow
}

// emit takes the agent's live events.
func (s *show) emit(e sessions.Event) {
	if text := e.Type == sessions.EventDelta || e.Type == sessions.EventThinking; text && !s.allowed {
		return
	}
	s.mu.Lock()
	switch e.Type {
	case sessions.EventDelta:
		s.text.WriteString(e.Text)
	case sessions.EventRetrying:
		s.text.Reset()
	}
	s.mu.Unlock()
	s.pieces.add(e)
	hitEvent(e.Type)
}

// publish gives an event to whoever follows the session. What the session has
// learnt meanwhile may forbid to show its text.
func (s *show) publish(e sessions.Event) {
	if text := e.Type == sessions.EventDelta || e.Type == sessions.EventThinking; text && !s.permitted() {
		return
	}
	e.Session, e.Run, e.At = s.run.Session, s.run.ID, s.r.now()
	s.r.bus.Emit(e)
}

// hitEvent names the steps that only events tell of.
func hitEvent(t sessions.EventType) {
	switch t {
	case sessions.EventDelta:
		faultpoint.Hit(faultpoint.ModelCall)
	case sessions.EventToolCall:
		faultpoint.Hit(faultpoint.ToolBeforeIntent)
	case sessions.EventToolDone:
		faultpoint.Hit(faultpoint.ToolAfterCall)
	}
}

// tick shows the present state on the platform and sets the timer for the next time.
func (s *show) tick() {
	s.work.Lock()
	defer s.work.Unlock()
	defer s.contain()
	if s.isClosed() || s.ctx.Err() != nil || !s.permitted() {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, previewCall)
	defer cancel()
	if !s.preview(ctx) {
		s.typing(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.timer = time.AfterFunc(s.every, s.tick)
	}
}

// contain ends the showing after a panic, which on a timer's goroutine would end the process.
func (s *show) contain() {
	if p := recover(); p != nil {
		s.off = true
		s.r.log.Error("preview panicked", "run", string(s.run.ID), "err", p, "stack", string(debug.Stack()))
	}
}

func (s *show) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *show) typing(ctx context.Context) {
	typer, ok := s.adapter.(adapters.Typer)
	if !ok || s.r.now().Sub(s.lastTyping) < typingEvery-s.every/2 {
		return
	}
	s.lastTyping = s.r.now()
	if err := typer.Typing(ctx, s.run.Route); err != nil {
		s.r.log.Debug("typing not shown", "channel", s.run.Route.Channel, "err", err)
	}
}

// preview shows the text so far; false if there is nothing new to show.
func (s *show) preview(ctx context.Context) bool {
	editor, ok := s.adapter.(adapters.Editor)
	if !ok || s.off {
		return false
	}
	s.mu.Lock()
	text := s.text.String()
	s.mu.Unlock()
	if text = firstPiece(s.adapter, text); len(text) < previewFirst || text == s.shown {
		return false
	}
	if s.row == nil && s.behind(ctx) {
		return false
	}
	shown, err := s.showText(ctx, editor, text)
	if err != nil {
		s.off = true // the final message is on its way anyhow; a preview is never worth a retry
		s.r.log.Debug("preview not shown", "run", string(s.run.ID), "err", err)
	}
	if shown {
		s.shown = text
	}
	return shown
}

// showText makes the text the preview's; false while it is not known whether there is one.
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

// behind reports whether something waits in the conversation, which a preview must not overtake.
func (s *show) behind(ctx context.Context) bool {
	waiting, err := s.r.store.LaneDeliveries(ctx, s.run.Route.Lane(), 1)
	return err != nil || len(waiting) > 0
}

func firstPiece(a adapters.Adapter, text string) string {
	if splitter, ok := a.(adapters.Splitter); ok && text != "" {
		return splitter.Split(text)[0]
	}
	return text
}

func (s *show) outbound(text string) adapters.Outbound {
	return s.row.outbound(part{text: text})
}

// firstPreview stores the delivery before the preview is sent and its receipt after; false if nothing shows for sure.
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
		again.Text, again.SentAt = text, s.r.now()
		if err := s.r.store.Commit(ctx, Change{Deliveries: []DeliveryMove{{From: DeliveryPreview, Delivery: again}}}); err != nil {
			return err
		}
		s.row = &again
		return nil
	}
	d := s.r.newDelivery(s.r.settings.Load(), KindReply, s.run.Route, text, s.taint())
	d.Session, d.Run, d.Status, d.SentAt = s.run.Session, s.run.ID, DeliveryPreview, s.r.now()
	if err := s.r.store.Commit(ctx, Change{Deliver: []Delivery{d}}); err != nil {
		return err
	}
	s.row = &d
	return nil
}

// notSent decides what follows from a failed send of the first preview. One that may show is
// looked up before the next, where the platform can be asked, else given up.
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
	s.row.PreviewID = receipt.MessageID
	stored := *s.row
	stored.Epoch = 0
	return s.r.store.Commit(ctx, Change{Deliveries: []DeliveryMove{{From: DeliveryPreview, Delivery: stored}}})
}

// close stops showing and waits for a call that is under way. It returns the
// preview's delivery, still to be finished, if there is one.
func (s *show) close() []DeliveryMove {
	s.pieces.close()
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.work.Lock()
	defer s.work.Unlock()
	if s.row == nil {
		return nil
	}
	if s.inDoubt() {
		s.row.LostPreview = s.row.Text
	}
	return []DeliveryMove{{From: DeliveryPreview, Delivery: *s.row}}
}
