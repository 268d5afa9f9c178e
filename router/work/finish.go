package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/announce"
	"sluice/internal/faultpoint"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// finisher stores the ends of runs and tells the people who wait.
type finisher struct {
	store     Store
	lanes     Lanes
	composer  Composer
	quotas    Quotas
	speaks    func() bool // nil: replies can't be spoken
	outbox    Outbox
	receipts  Receipts
	exchanges Exchanges
	acks      *Acks
	sinkLevel func(route sessions.Route) flow.Level
	emit      func(event sessions.Event)
	now       func() time.Time
	log       *slog.Logger
	runs      *prometheus.CounterVec // by terminal status
}

// answered is an agent's answer, with its preview.
type answered struct {
	Answer
	preview []ledger.DeliveryMove
	shown   *show
}

// finish stores the last message, the end of the runs and the delivery of the answer, in one transaction.
func (f *finisher) finish(ctx context.Context, j *job, answer answered) error {
	session, batch, preview := j.session, j.batch, answer.preview
	last := batch[len(batch)-1]
	files := f.files(ctx, &last, session.Taint(), &answer.Answer)
	change := ledger.Change{Change: session.Pending(), Media: files.media}
	f.touch(&change, last.Route)
	for _, run := range batch {
		run.Status, run.Finished, run.Reply, run.Model, run.Label = sessions.RunDone, f.now(), answer.Text, answer.Model, session.Taint()
		if run.Leader == "" {
			run.Usage, run.Calls = answer.Usage, answer.Calls
		}
		change.Runs = append(change.Runs, sessions.RunMove{From: sessions.RunRunning, Run: run})
	}
	say, kind := answer.Text, ledger.KindReply
	if last.Exchange != "" {
		var err error
		last.Model = answer.Model
		if say, err = f.exchanges.Advance(ctx, &change, f.stepEnd(&last, session.Taint(), announce.Result{Status: sessions.RunDone, Text: answer.Text, Usage: answer.Usage})); err != nil {
			return err
		}
		kind = ledger.KindAnnounce
		if sessions.Silent(say) && len(files.media) > 0 { // the exchange was stopped, or its agent announces nothing
			f.log.Info("files of an announcement not sent: nothing is announced", "run", string(last.ID), "session", string(last.Session), "files", len(files.media))
			files, change.Media = attached{}, nil
		}
	}
	label := session.Taint()
	if last.Kind == sessions.KindCommand {
		kind, label = ledger.KindCommand, quoted(answer.Answer)
	}
	var begun *outbound.Begun
	switch silent := sessions.Silent(say) || last.Route.IsZero(); {
	case len(files.media) > 0:
		f.deliverFiles(&change, f.reply(last, kind, sessions.VisibleText(say), label), files, preview)
	case !silent && len(preview) == 0:
		begun = f.outbox.Begin(ctx, &change, f.reply(last, kind, say, label), batch)
	case !silent:
		f.deliver(&change, f.reply(last, kind, say, label), preview)
	default:
		change.Deliveries = f.composer.Withdraw(preview)
	}
	if !last.Route.IsZero() && kind == ledger.KindReply && f.spoken(session.Record(), say) {
		change.Deliver = append(change.Deliver, f.reply(last, ledger.KindVoice, say, label))
	}
	if err := f.commitBegun(ctx, &change, begun); err != nil {
		return err
	}
	session.Saved(change.Change)
	f.runs.WithLabelValues(string(sessions.RunDone)).Inc()
	switch {
	case sessions.Silent(say):
		say = ""
	case kind != ledger.KindCommand:
		say = answer.shown.final(say)
	}
	f.emitEnd(batch, sessions.Event{Type: sessions.EventDone, Text: say, Usage: &answer.Usage, Label: session.Taint()})
	return nil
}

// quoted is the label of a command's answer.
func quoted(answer Answer) flow.Label {
	if answer.Quotes == (flow.Label{}) {
		return ledger.NoticeLabel()
	}
	return answer.Quotes
}

// noReasonText is the message for a failed run if its reason is too secret for the conversation.
const noReasonText = "I could not answer. My owner can see why with `sluice runs list --status failed`, or start a new session with /new."

// failureText is what people see of a run without an answer. The agent decides how a run fails and could leak data
// that way, so the reason is shown only if the conversation may carry everything that the session knows. One reason
// is always shown: that the session's level is too high for its model, because only an owner can help.
func (f *finisher) failureText(taint flow.Label, route sessions.Route, why *sessions.WorkError) string {
	if taint.FlowsTo(f.sinkLevel(route)) || errors.Is(why.Err, sessions.ErrModelLevel) {
		return why.Public
	}
	return noReasonText
}

// reply creates the delivery of a run's answer.
func (f *finisher) reply(run sessions.Run, kind ledger.DeliveryKind, text string, label flow.Label) ledger.Delivery {
	d := f.composer.Delivery(kind, run.Route, text, label)
	d.Session, d.Run = run.Session, run.ID
	return d
}

// deliver adds a delivery to the change: as a new one, or as the final text of a visible preview.
func (f *finisher) deliver(change *ledger.Change, d ledger.Delivery, preview []ledger.DeliveryMove) {
	if len(preview) == 0 {
		change.Deliver = append(change.Deliver, d)
		return
	}
	move := preview[0]
	move.Delivery.Text, move.Delivery.Label, move.Delivery.Kind, move.Delivery.Files = d.Text, d.Label, d.Kind, d.Files
	move.Delivery.Status, move.Delivery.NextTry, move.Delivery.Expires = ledger.DeliveryQueued, d.NextTry, d.Expires
	change.Deliveries = append(change.Deliveries, move)
}

// finishFailed stores that the runs ended without an answer, and tells the person who waits.
func (f *finisher) finishFailed(ctx context.Context, j *job, why *sessions.WorkError, preview ...ledger.DeliveryMove) error {
	batch, session := j.batch, j.session
	f.log.Warn("run ended without a reply", "run", string(batch[0].ID), "session", string(j.id), "status", string(why.Status), "err", why.Err)
	f.runs.WithLabelValues(string(why.Status)).Inc()
	var change ledger.Change
	if session != nil {
		session.ResolveInterrupted()
		change.Change = session.Pending()
		f.touch(&change, batch[len(batch)-1].Route)
	}
	f.fail(&change, j, batch, why)
	change.DenyPending = []ledger.PendingDenial{{Run: batch[0].ID, Reason: "the run has ended", At: f.now()}}
	last := batch[len(batch)-1]
	say := ""
	if last.Exchange != "" {
		var err error
		if say, err = f.exchanges.Advance(ctx, &change, f.stepEnd(&last, taintOf(j), announce.Result{Status: why.Status, Error: why.Public})); err != nil {
			return err
		}
	}
	switch {
	case last.Route.IsZero():
	case last.Exchange != "": // it has no preview
		if say != "" {
			change.Deliver = append(change.Deliver, f.reply(last, ledger.KindAnnounce, say, taintOf(j)))
		}
	case why.Status == sessions.RunAborted:
		change.Deliveries = f.composer.Withdraw(preview) // /stop has already answered
	default:
		f.deliver(&change, f.reply(last, ledger.KindNotice, f.failureText(taintOf(j), last.Route, why), ledger.NoticeLabel()), preview)
	}
	if err := f.commitEnd(ctx, change); err != nil {
		return err
	}
	if session != nil {
		session.Saved(change.Change)
	}
	event := sessions.Event{Type: sessions.EventFailed, Text: why.Public, Label: taintOf(j)}
	if why.Status == sessions.RunAborted {
		event.Type = sessions.EventAborted
	}
	f.emitEnd(batch, event)
	return nil
}

// fail adds the end of runs that have no answer.
func (f *finisher) fail(change *ledger.Change, j *job, batch []sessions.Run, why *sessions.WorkError) {
	for _, run := range batch {
		from := run.Status
		run.Status, run.Finished, run.Error, run.Epoch = why.Status, f.now(), why.Public, j.lane.Epoch()
		run.Label = run.Label.Join(taintOf(j)) // the session's label at that moment decides how the run ended
		change.Runs = append(change.Runs, sessions.RunMove{From: from, Run: run})
	}
	change.Audit = append(change.Audit, sessions.AuditEntry{
		At: f.now(), Actor: "agent:" + j.record.Agent, Action: "run." + string(why.Status), Object: string(batch[0].ID),
		Session: j.id, Label: j.record.Taint, Detail: map[string]string{"error": why.Err.Error()},
	})
}

// stepEnd is the end of a run's step in an exchange.
func (f *finisher) stepEnd(run *sessions.Run, taint flow.Label, result announce.Result) exchange.End {
	if !run.Started.IsZero() {
		result.Runtime = f.now().Sub(run.Started)
	}
	return exchange.End{Run: run, Taint: taint, Result: result}
}

// taintOf is the label of a job's session, as far as known.
func taintOf(j *job) flow.Label {
	if j.session != nil {
		return j.session.Taint()
	}
	return j.record.Taint
}

// touch stores where and when the session was last active.
func (f *finisher) touch(change *ledger.Change, route sessions.Route) {
	for i := range change.Save {
		change.Save[i].LastActivity = f.now()
		if !route.IsZero() {
			change.Save[i].Route = route.Place()
		}
	}
}

// commitBegun stores the end of runs, and with it the intent to send their answer. If somebody else has queued something
// before the answer, or owns its conversation by now, the answer is queued.
func (f *finisher) commitBegun(ctx context.Context, change *ledger.Change, begun *outbound.Begun) error {
	if begun == nil {
		return f.commitEnd(ctx, *change)
	}
	stored := false
	defer func() {
		if stored {
			begun.Stored()
		} else {
			begun.NotStored()
		}
	}()
	err := f.commitEnd(ctx, *change)
	if errors.Is(err, sessions.ErrConflict) {
		begun.Undo(change)
		return f.commitEnd(ctx, *change)
	}
	stored = err == nil
	return err
}

func (f *finisher) commitEnd(ctx context.Context, change ledger.Change) error {
	faultpoint.Hit(faultpoint.FinishBeforeCommit)
	tries := 0
	err := lanes.Patiently(ctx, func() error { tries++; return f.store.Commit(ctx, change) })
	if tries > 1 && (errors.Is(err, sessions.ErrConflict) || errors.Is(err, sessions.ErrDuplicate)) && endStored(ctx, f.store, change) {
		err = nil // an earlier attempt whose answer was lost has stored it
	}
	if err == nil {
		for _, m := range change.Deliveries {
			f.receipts.Drop(m.Delivery.ID) // of a preview
		}
		faultpoint.Hit(faultpoint.FinishAfterCommit)
	}
	// The lanes are woken even after an error: a commit whose answer was lost may have succeeded.
	f.lanes.WakeFor(change)
	if err != nil {
		return fmt.Errorf("end run: %w", err)
	}
	return nil
}

// endStored reports whether the store has the end of the runs in a change.
func endStored(ctx context.Context, store Store, change ledger.Change) bool {
	want := change.Runs[0].Run
	got, err := store.Run(ctx, want.ID)
	return err == nil && got.Status == want.Status && got.Finished.Equal(want.Finished.Truncate(time.Microsecond))
}

func (f *finisher) emitEnd(batch []sessions.Run, event sessions.Event) {
	for _, run := range batch {
		f.acks.Ended(run)
		event.Session, event.Run, event.At = run.Session, run.ID, f.now()
		f.emit(event)
	}
}

// handBack gives up runs in progress because the partition moves or a person must decide: they stay running, the
// session's next owner resumes them, and this start is not counted as an attempt.
func (f *finisher) handBack(batch []sessions.Run, cause error) error {
	ctx, cancel := context.WithTimeout(context.Background(), lanes.SettleTimeout)
	defer cancel()
	var change sessions.Change
	for _, run := range batch {
		run.Attempts--
		change.Runs = append(change.Runs, sessions.RunMove{From: sessions.RunRunning, Run: run})
	}
	if err := f.store.CommitSession(ctx, change); err != nil {
		return fmt.Errorf("hand run back (%w): %w", cause, err)
	}
	return nil
}
