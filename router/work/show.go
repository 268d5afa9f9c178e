package work

import (
	"context"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/adapters"
	"sluice/internal/faultpoint"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/journal"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/sessions"
)

const (
	showDelay    = 500 * time.Millisecond // an answer that is faster shows no typing
	typingEvery  = 4 * time.Second        // platforms end it after about five
	previewCall  = 15 * time.Second       // bound of one platform call for a preview
	previewFirst = 20                     // minimum length of the first preview in characters
	// lateMax is how late an update may come. A process that was frozen for longer may have lost the session, and hears of it in the
	// same moment: its next update comes after that.
	lateMax = time.Second
)

// show lets people see that a run is working: through live events, a typing indicator, and on platforms that can edit
// messages a preview, which becomes the final message. All of it stops at close. A timer calls tick; the mutex work
// keeps tick and close apart.
type show struct {
	by      *shows
	ctx     context.Context
	run     *sessions.Run // the run whose route the answer takes
	spoken  *atomic.Pointer[sessions.Run]
	record  *sessions.Record // as it was when the run started
	taint   func() flow.Label
	oldest  sessions.ConversationID // the conversation's first id
	send    sessions.SendPolicy     // the /send setting for the answer
	unsure  bool                    // oldest or send could not be read
	allowed bool                    // as far as known before it is written, the gate lets the answer out
	adapter adapters.Adapter
	verbose sessions.VerboseLevel
	chunks  textChunks             // of the text, on their way to followers of the session
	filter  sessions.SilenceFilter // holds back text that may turn out to be silence; the run's goroutine alone uses it

	mu       sync.Mutex
	text     strings.Builder // of the answer
	thinking strings.Builder // of the model's thoughts
	closed   bool
	timer    *time.Timer
	due      time.Time // of the next update

	work       sync.Mutex       // held while the platform is called; guards what follows
	row        *ledger.Delivery // the preview's delivery; nil until it was stored
	shown      string
	off        bool // whether this run shows no further preview
	unclear    bool // whether the intent of a preview that was not sent may be stored
	lastTyping time.Time
	every      time.Duration
}

// shows creates the show of each run.
type shows struct {
	store    Store
	lanes    Lanes
	gate     Gate
	composer Composer
	receipts Receipts
	sent     *journal.Metrics
	places   *place.Places
	adapter  adapters.Finder
	emit     func(event sessions.Event)
	now      func() time.Time
	log      *slog.Logger
}

// of creates the show of a batch, which takes over the preview of the previous worker.
func (w *shows) of(ctx context.Context, j *job) *show {
	run := &j.batch[len(j.batch)-1]
	s := &show{by: w, ctx: ctx, run: run, spoken: &j.spoken, record: &j.record, taint: j.session.Taint, verbose: j.session.Verbose(), every: typingEvery}
	s.chunks.publish = s.publish
	var err error
	if s.oldest, err = w.places.OldestID(ctx, run.Route); err == nil {
		s.send, err = place.InheritedSend(ctx, w.store, j.record)
	}
	if err != nil {
		s.unsure = true
		w.log.Warn("reply not shown while it is written", "run", string(run.ID), "err", err)
	}
	s.allowed = s.permitted("")
	if run.Route.IsZero() || run.Kind.Step() {
		s.allowed = s.allowed && !run.Kind.Step() // messages between agents are shown when they are complete, if at all
		return s
	}
	a, ok := w.adapter(run.Route.Channel, run.Route.Account)
	if !ok {
		return s
	}
	s.adapter = a
	if p, ok := a.(adapters.Previewer); ok && run.Route.Handle == "" { // not every platform can edit a private answer
		s.every = min(s.every, p.PreviewEvery())
	} else {
		s.off = true
	}
	if j.resumed {
		s.adopt(j.batch)
	}
	return s
}

// begin sets the timer for the first sign of progress, if the platform can show one.
func (s *show) begin() {
	if s.adapter == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, typer := s.adapter.(adapters.Typer); typer || !s.off {
		s.updateIn(showDelay)
	}
}

// updateIn sets the timer for the next update. The caller holds mu.
func (s *show) updateIn(wait time.Duration) {
	s.due = s.by.now().Add(wait)
	s.timer = time.AfterFunc(wait, s.tick)
}

// late reports whether the update comes so late that the process may have been frozen.
func (s *show) late() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by.now().Sub(s.due) > lateMax
}

// permitted asks the gate whether the unfinished answer may be shown: the gate must let it out unchanged, whatever it
// becomes.
func (s *show) permitted(text string) bool {
	e := s.egress()
	e.Partial, e.Text = true, text
	return s.lets(e)
}

func (s *show) lets(e policy.Egress) bool {
	return !s.unsure && s.by.gate.Decide(e).Action == policy.Allow
}

// written is the answer so far.
func (s *show) written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// upTo is everything that the model has written and thought so far. The text that the next chunk continues comes
// last, because chunks may cut a secret in two anywhere.
func (s *show) upTo(piece sessions.EventType) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if piece == sessions.EventThinking {
		return s.text.String() + "\n" + s.thinking.String()
	}
	return s.thinking.String() + "\n" + s.text.String()
}

// final is the answer as followers of the session may see it; empty if they may not see it.
func (s *show) final(text string) string {
	if s.unsure || s.run.Kind.Step() {
		return ""
	}
	e := s.egress()
	e.Text = text
	d := s.by.gate.Decide(e)
	if !d.Passes() {
		return ""
	}
	return d.Redacted(text)
}

// egress is the gate's input for the answer, without a text.
func (s *show) egress() policy.Egress {
	record := *s.record
	record.Taint = s.taint()
	return outbound.Outgoing{
		ID: outbound.AnswerID(*s.run), Now: s.by.now(), Kind: ledger.KindReply, Route: s.run.Route, Label: record.Taint, Record: record, Oldest: s.oldest,
		Override: s.send, Answered: s.spoken.Load(),
	}.Egress()
}

// emit handles the agent's live events.
func (s *show) emit(e sessions.Event) {
	if text := e.Type == sessions.EventDelta || e.Type == sessions.EventThinking; text && !s.allowed {
		return
	}
	switch e.Type {
	case sessions.EventDelta:
		if e.Text = s.filter.Add(e.Text); e.Text == "" {
			hitEvent(e.Type)
			return
		}
	case sessions.EventToolCall: // the text before the call is a separate answer
		s.rest()
	case sessions.EventRetrying:
		s.filter = sessions.SilenceFilter{}
	}
	s.pass(e)
}

// rest shows the held-back text of an answer that has ended and is not silent.
func (s *show) rest() {
	if text := s.filter.End(); text != "" {
		s.pass(sessions.Event{Type: sessions.EventDelta, Text: text})
	}
}

// pass shows an event to followers of the session and in the chat.
func (s *show) pass(e sessions.Event) {
	s.mu.Lock()
	switch e.Type {
	case sessions.EventDelta:
		s.text.WriteString(e.Text)
	case sessions.EventThinking:
		s.thinking.WriteString(e.Text)
	case sessions.EventRetrying:
		s.text.Reset()
		s.thinking.Reset()
	}
	s.mu.Unlock()
	s.chunks.add(e)
	s.tell(e)
	hitEvent(e.Type)
}

// publish sends an event to followers of the session. The session's label may have risen in the meantime, so that
// they must not see its text.
func (s *show) publish(e sessions.Event) {
	if text := e.Type == sessions.EventDelta || e.Type == sessions.EventThinking; text && !s.permitted(s.upTo(e.Type)) {
		return
	}
	e.Session, e.Run, e.At, e.Label = s.run.Session, s.run.ID, s.by.now(), s.taint()
	s.by.emit(e)
}

// hitEvent hits the fault points of steps that only events show.
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

// tick updates the platform and sets the timer for the next update.
func (s *show) tick() {
	s.work.Lock()
	defer s.work.Unlock()
	defer s.contain()
	text := s.written() // the gate checks exactly the text that is shown, even if more is written in the meantime
	if s.isClosed() || s.ctx.Err() != nil {
		return
	}
	if (text != "" || s.row != nil || s.typingDue()) && !s.late() { // thousands of runs that wait for their models have nothing new
		if !s.permitted(text) {
			return
		}
		s.show(text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.updateIn(s.every)
	}
}

// show shows the text so far, or else that somebody is typing.
func (s *show) show(text string) {
	ctx, cancel := context.WithTimeout(s.ctx, previewCall)
	defer cancel()
	if !s.preview(ctx, text) {
		s.typing(ctx)
	}
}

// typingDue reports whether the typing indicator ends soon.
func (s *show) typingDue() bool { return s.by.now().Sub(s.lastTyping) >= typingEvery-s.every/2 }

// contain ends the show after a panic, which would end the process on a timer's goroutine.
func (s *show) contain() {
	if p := recover(); p != nil {
		s.off = true
		s.by.log.Error("preview panicked", "run", string(s.run.ID), "err", p, "stack", string(debug.Stack()))
	}
}

func (s *show) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *show) typing(ctx context.Context) {
	typer, ok := s.adapter.(adapters.Typer)
	if !ok || !s.typingDue() {
		return
	}
	s.lastTyping = s.by.now()
	if err := typer.Typing(ctx, s.run.Route); err != nil {
		s.by.log.Debug("typing not shown", "channel", s.run.Route.Channel, "err", err)
	}
}

// close stops the show and waits for the current call. It returns the preview's delivery, if there is one; the caller
// must finish it.
func (s *show) close() []ledger.DeliveryMove {
	s.rest()
	s.chunks.close()
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.work.Lock()
	defer s.work.Unlock()
	if s.row == nil && s.unclear {
		s.findIntent()
	}
	if s.row == nil {
		return nil
	}
	if s.inDoubt() {
		s.row.LostPreview = s.row.Text
	}
	return []ledger.DeliveryMove{{From: ledger.DeliveryPreview, Delivery: *s.row}}
}
