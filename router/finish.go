package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/announce"
	"sluice/internal/faultpoint"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

// finish stores the last message, the end of the runs and the delivery of the answer, in one transaction.
func (w *sessionWorker) finish(ctx context.Context, session *sessions.Session, batch []sessions.Run, answer Answer, show *show, preview []ledger.DeliveryMove) error {
	last := batch[len(batch)-1]
	change := ledger.Change{Change: session.Pending()}
	w.touch(&change, last.Route)
	for _, run := range batch {
		run.Status, run.Finished, run.Reply, run.Model, run.Label = sessions.RunDone, w.now(), answer.Text, answer.Model, session.Taint()
		if run.Leader == "" {
			run.Usage = answer.Usage
		}
		change.Runs = append(change.Runs, sessions.RunMove{From: sessions.RunRunning, Run: run})
	}
	say, kind := answer.Text, ledger.KindReply
	if last.Exchange != "" {
		var err error
		if say, err = w.exchanges.Advance(ctx, &change, w.stepEnd(&last, session.Taint(), announce.Result{Status: sessions.RunDone, Text: answer.Text, Usage: answer.Usage})); err != nil {
			return err
		}
		kind = ledger.KindAnnounce
	}
	label := session.Taint()
	if last.Kind == sessions.KindCommand {
		kind, label = ledger.KindCommand, quoted(answer)
	}
	if !sessions.Silent(say) && !last.Route.IsZero() {
		w.deliver(&change, w.reply(last, kind, say, label), preview)
	} else {
		change.Deliveries = w.compose.Withdraw(preview)
	}
	if err := w.commitEnd(ctx, change); err != nil {
		return err
	}
	session.Saved(change.Change)
	w.metrics.runs.WithLabelValues(string(sessions.RunDone)).Inc()
	switch {
	case sessions.Silent(say):
		say = ""
	case kind != ledger.KindCommand:
		say = show.final(say)
	}
	w.emitEnd(batch, sessions.Event{Type: sessions.EventDone, Text: say, Usage: &answer.Usage, Label: session.Taint()})
	return nil
}

// quoted is the label of a command's answer.
func quoted(answer Answer) flow.Label {
	if answer.Quotes == (flow.Label{}) {
		return ledger.NoticeLabel()
	}
	return answer.Quotes
}

// notSaidWhy is the excuse of a session that knows more than may be said where it is spoken to.
const notSaidWhy = "I could not answer. My owner can see why with `sluice runs list --status failed`, or begin a new session with /new."

// excuse is what people are told of a run without an answer. How it failed is up to its agent, who could tell something by it: so it is told where what the
// session knows may be said. That the session knows too much for its model is told everywhere, since only an owner can help.
func (w *sessionWorker) excuse(taint flow.Label, route sessions.Route, why *sessions.WorkError) string {
	if taint.FlowsTo(w.gate.SinkLevel(route)) || errors.Is(why.Err, sessions.ErrModelLevel) {
		return why.Public
	}
	return notSaidWhy
}

// reply makes the delivery of a run's answer.
func (w *sessionWorker) reply(run sessions.Run, kind ledger.DeliveryKind, text string, label flow.Label) ledger.Delivery {
	d := w.compose.Delivery(kind, run.Route, text, label)
	d.Session, d.Run = run.Session, run.ID
	return d
}

// deliver adds a delivery to the change: as a new one, or as the final text of the preview that shows already.
func (w *sessionWorker) deliver(change *ledger.Change, d ledger.Delivery, preview []ledger.DeliveryMove) {
	if len(preview) == 0 {
		change.Deliver = append(change.Deliver, d)
		return
	}
	move := preview[0]
	move.Delivery.Text, move.Delivery.Label, move.Delivery.Kind = d.Text, d.Label, d.Kind
	move.Delivery.Status, move.Delivery.NextTry, move.Delivery.Expires = ledger.DeliveryQueued, d.NextTry, d.Expires
	change.Deliveries = append(change.Deliveries, move)
}

// finishFailed stores that the runs ended without an answer and tells the person who waits.
func (w *sessionWorker) finishFailed(ctx context.Context, j *job, why *sessions.WorkError, preview ...ledger.DeliveryMove) error {
	batch, session := j.batch, j.session
	w.log.Warn("run ended without an answer", "run", string(batch[0].ID), "session", string(w.id), "status", string(why.Status), "err", why.Err)
	w.metrics.runs.WithLabelValues(string(why.Status)).Inc()
	var change ledger.Change
	if session != nil {
		session.ResolveInterrupted()
		change.Change = session.Pending()
		w.touch(&change, batch[len(batch)-1].Route)
	}
	w.fail(&change, j, batch, why)
	change.Unask = []ledger.Unask{{Run: batch[0].ID, Reason: "the run has ended", At: w.now()}}
	last := batch[len(batch)-1]
	say := ""
	if last.Exchange != "" {
		var err error
		if say, err = w.exchanges.Advance(ctx, &change, w.stepEnd(&last, taintOf(j), announce.Result{Status: why.Status, Error: why.Public})); err != nil {
			return err
		}
	}
	switch {
	case last.Route.IsZero():
	case last.Exchange != "": // it has no preview
		if say != "" {
			change.Deliver = append(change.Deliver, w.reply(last, ledger.KindAnnounce, say, taintOf(j)))
		}
	case why.Status == sessions.RunAborted:
		change.Deliveries = w.compose.Withdraw(preview) // /stop has answered already
	default:
		w.deliver(&change, w.reply(last, ledger.KindNotice, w.excuse(taintOf(j), last.Route, why), ledger.NoticeLabel()), preview)
	}
	if err := w.commitEnd(ctx, change); err != nil {
		return err
	}
	if session != nil {
		session.Saved(change.Change)
	}
	event := sessions.Event{Type: sessions.EventFailed, Text: why.Public, Label: taintOf(j)}
	if why.Status == sessions.RunAborted {
		event.Type = sessions.EventAborted
	}
	w.emitEnd(batch, event)
	return nil
}

// fail adds the end of runs that have no answer.
func (w *sessionWorker) fail(change *ledger.Change, j *job, batch []sessions.Run, why *sessions.WorkError) {
	for _, run := range batch {
		from := run.Status
		run.Status, run.Finished, run.Error, run.Epoch = why.Status, w.now(), why.Public, w.lane.Epoch()
		run.Label = run.Label.Join(taintOf(j)) // how it ended, and that it did, hangs on what was learnt
		change.Runs = append(change.Runs, sessions.RunMove{From: from, Run: run})
	}
	change.Audit = append(change.Audit, sessions.AuditEntry{
		At: w.now(), Actor: "agent:" + j.record.Agent, Action: "run." + string(why.Status), Object: string(batch[0].ID),
		Session: w.id, Label: j.record.Taint, Detail: map[string]string{"error": why.Err.Error()},
	})
}

// stepEnd says how the step of an exchange ended that a run worked.
func (w *sessionWorker) stepEnd(run *sessions.Run, taint flow.Label, result announce.Result) exchange.End {
	if !run.Started.IsZero() {
		result.Runtime = w.now().Sub(run.Started)
	}
	return exchange.End{Run: run, Taint: taint, Result: result}
}

// taintOf is what the session of a job has learnt, as far as that is known.
func taintOf(j *job) flow.Label {
	if j.session != nil {
		return j.session.Taint()
	}
	return j.record.Taint
}

// touch writes where and when the session was last active.
func (w *sessionWorker) touch(change *ledger.Change, route sessions.Route) {
	for i := range change.Save {
		change.Save[i].LastActivity = w.now()
		if !route.IsZero() {
			change.Save[i].Route = route.Place()
		}
	}
}

func (w *sessionWorker) commitEnd(ctx context.Context, change ledger.Change) error {
	faultpoint.Hit(faultpoint.FinishBeforeCommit)
	tries := 0
	err := lanes.Patiently(ctx, func() error { tries++; return w.store.Commit(ctx, change) })
	if tries > 1 && (errors.Is(err, sessions.ErrConflict) || errors.Is(err, sessions.ErrDuplicate)) && endStored(ctx, w.store, change) {
		err = nil // by a try whose answer was lost
	}
	if err == nil {
		for _, m := range change.Deliveries {
			w.receipts.Drop(m.Delivery.ID) // of a preview
		}
		faultpoint.Hit(faultpoint.FinishAfterCommit)
	}
	// Woken is also after an error: a commit whose answer was lost may stand.
	w.lanes.WakeFor(change)
	if err != nil {
		return fmt.Errorf("end run: %w", err)
	}
	return nil
}

// endStored reports whether the end of a change's runs is stored as the change says it.
func endStored(ctx context.Context, store ledger.Store, change ledger.Change) bool {
	want := change.Runs[0].Run
	got, err := store.Run(ctx, want.ID)
	return err == nil && got.Status == want.Status && got.Finished.Equal(want.Finished.Truncate(time.Microsecond))
}

func (w *sessionWorker) emitEnd(batch []sessions.Run, event sessions.Event) {
	for _, run := range batch {
		w.unacknowledge(run)
		event.Session, event.Run, event.At = w.id, run.ID, w.now()
		w.bus.Emit(event)
	}
}

// handBack gives up runs that are under way because the partition goes elsewhere: they stay running, for the
// next owner to go on with, and this start counts as no attempt.
func (w *sessionWorker) handBack(batch []sessions.Run, cause error) error {
	ctx, cancel := context.WithTimeout(context.Background(), lanes.SettleTimeout)
	defer cancel()
	var change sessions.Change
	for _, run := range batch {
		run.Attempts--
		change.Runs = append(change.Runs, sessions.RunMove{From: sessions.RunRunning, Run: run})
	}
	if err := w.store.CommitSession(ctx, change); err != nil {
		return fmt.Errorf("hand run back (%w): %w", cause, err)
	}
	return nil
}
