package router

import (
	"context"
	"errors"
	"fmt"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/speech"
	"sluice/sessions"
)

// admitRun queues a run for the message, in the session that its route names.
func (r *Router) admitRun(ctx context.Context, s *place.Settings, in Admission, owner bool) (Admitted, error) {
	record, change, err := r.places.SessionOf(ctx, s, in.arrival(), owner)
	if err != nil {
		return Admitted{}, err
	}
	fresh := len(change.Create) > 0
	if in.Edited && !fresh {
		if in.order, err = r.editOrder(ctx, in, record.ID); err != nil {
			return Admitted{}, err
		}
	}
	run := r.newRun(in, record, owner)
	if err := r.takeHistory(ctx, in, &run, &change); err != nil {
		return Admitted{}, err
	}
	if beginsInThread(in.Inbound, change) {
		run.Input.NewThread = true
		change.Unsay = append(change.Unsay, threadTold(in.Inbound))
	}
	if !fresh {
		instead, err := r.makeRoom(ctx, s, in, record, &change)
		if err != nil {
			return Admitted{}, err
		}
		if instead != nil {
			return *instead, nil
		}
	}
	if in.Edited {
		change.Revised = &ledger.Revision{Lane: in.Route.Lane(), Message: in.MessageID, Run: run.ID}
	}
	change.Enqueue = append(change.Enqueue, run)
	err = r.commitEvent(ctx, in, ledger.OutcomeRun, change)
	if errors.Is(err, sessions.ErrNotFound) && len(change.End) > 0 {
		err = sessions.ErrConflict // another message has reset the session since
	}
	if err != nil {
		return Admitted{}, err
	}
	r.acks.Heard(run)
	return Admitted{Outcome: ledger.OutcomeRun, Session: record.ID, Run: run.ID}, nil
}

func (r *Router) newRun(in Admission, record sessions.Record, owner bool) sessions.Run {
	route := in.Route
	message := in.MessageID
	if in.Press != "" {
		route.Handle, message = "", "" // all see who has pressed what, and so the answer; and the message is the bot's own
	}
	kind := sessions.KindMessage
	if in.order != nil && !in.order.Do.Answered() {
		kind = sessions.KindCommand
	}
	label := r.saidLabel(in, owner)
	if in.Label.Valid() {
		label = flow.NewLabel(in.Label.Level(), label.Trust()).Join(in.Label)
	}
	if in.carries.Valid() { // the words of a button are not those of who presses it
		label, owner = label.Join(in.carries), owner && in.carries.Trust() == flow.Trusted
	}
	return sessions.Run{
		ID: sessions.NewRunID(), Session: record.ID, Partition: record.Partition,
		Kind: kind, Status: sessions.RunQueued,
		Input: sessions.Input{
			Text: in.Text, Sender: in.Sender, Attachments: in.Attachments, Owner: owner,
			MessageID: message, Quotations: in.Quotations, Unread: in.Unread, More: in.More && in.order == nil, Order: in.order,
		},
		Route: route, Label: label, EventKey: eventKey(in), Accepted: r.now(),
	}
}

// takeHistory moves what happened in a conversation into the run that answers there next.
func (r *Router) takeHistory(ctx context.Context, in Admission, run *sessions.Run, change *ledger.Change) error {
	if in.Session != "" || in.order != nil && in.order.Do != sessions.OrderEdit { // over the API, a session has no conversation; and a command tells the agent nothing
		return nil
	}
	lines, err := r.store.History(ctx, in.Route.Lane())
	if err != nil {
		return fmt.Errorf("read history: %w", err)
	}
	if len(lines) == 0 {
		return nil
	}
	run.Input.History = lines
	upto := lines[0].At
	for _, l := range lines {
		run.Label = run.Label.Join(l.Label)
		if l.At.After(upto) { // a clock that was set back makes the last line not the latest
			upto = l.At
		}
	}
	change.Forget = append(change.Forget, ledger.Forget{Lane: in.Route.Lane(), Upto: upto})
	return nil
}

func (r *Router) emitUser(run sessions.Run) {
	sender := run.Input.Sender
	r.bus.Emit(sessions.Event{
		Session: run.Session, Run: run.ID, Type: sessions.EventUser,
		Text: speech.Text(run.Input), Sender: &sender, At: run.Accepted, Label: run.Label,
	})
}

// admitOrder queues a run that carries out an order.
func (r *Router) admitOrder(ctx context.Context, s *place.Settings, in Admission, owner bool, order *sessions.Order) (Admitted, error) {
	in.order, in.More = order, false
	return r.admitRun(ctx, s, in, owner)
}

// editOrder is the order of an edit: the message that was edited gets another version. It is nil for the
// edit of a message that no run has worked on.
func (r *Router) editOrder(ctx context.Context, in Admission, session sessions.ID) (*sessions.Order, error) {
	last, err := r.runOf(ctx, in)
	switch {
	case err != nil || last == nil || last.Session != session:
		return nil, err
	case last.Status == sessions.RunQueued: // this run takes its place, see replaceEdited
		return last.Input.Order, nil
	}
	return &sessions.Order{Do: sessions.OrderEdit, Run: last.ID}, nil
}

// beginsInThread reports whether a message is the first that its session hears of a thread that others have begun.
func beginsInThread(in adapters.Inbound, change ledger.Change) bool {
	return in.Route.Thread != "" && !in.OpensThread && len(change.Create) > 0 && len(change.End) == 0
}

// threadTold drops the message that a thread hangs on from what its channel's next turn is told: the thread's session reads it.
func threadTold(in adapters.Inbound) ledger.Unsaid {
	at := in.Route
	at.Thread = ""
	return ledger.Unsaid{Lane: at.Lane(), Message: sessions.PlatformMessageID(in.Route.Thread)}
}
