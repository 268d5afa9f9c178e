package inbound

import (
	"context"
	"errors"
	"fmt"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/usertext"
	"sluice/router/work"
	"sluice/sessions"
)

// admitRun queues a run for the message, in the session that its route names.
func (i *Intake) admitRun(ctx context.Context, s *place.Settings, in Admission, owner bool) (Admitted, error) {
	record, change, err := i.Places.SessionOf(ctx, s, in.arrival(), owner)
	if err != nil {
		return Admitted{}, err
	}
	fresh := len(change.Create) > 0
	if in.Edited && in.order == nil && !fresh {
		if in.order, err = editOrder(ctx, i.Store, in, record.ID); err != nil {
			return Admitted{}, err
		}
	}
	run := i.newRun(in, record, owner)
	if refused, err := newOverLimit(ctx, i, s, in, run, record); refused != nil || err != nil {
		return admitted(refused), err
	}
	if err := i.takeHistory(ctx, in, &run, &change); err != nil {
		return Admitted{}, err
	}
	if beginsInThread(in.Inbound, change) {
		run.Input.NewThread = true
		change.DeleteHistory = append(change.DeleteHistory, threadStart(in.Inbound))
	}
	change.Enqueue = append(change.Enqueue, run)
	begun := i.begin(in, record, &change)
	if !fresh && begun == nil {
		instead, err := i.makeRoom(ctx, s, in, record, &change)
		if err != nil {
			return Admitted{}, err
		}
		if instead != nil {
			return *instead, nil
		}
	}
	if in.Edited { // an edit that changes nothing was not counted
		if refused, err := overLimit(ctx, i, s, in, run, record); refused != nil || err != nil {
			return admitted(refused), err
		}
		change.Revised = &ledger.Revision{Lane: in.Route.Lane(), Message: in.MessageID, Run: run.ID}
	}
	err = i.commitBegun(ctx, in, change, begun)
	if errors.Is(err, sessions.ErrNotFound) && len(change.End) > 0 {
		err = sessions.ErrConflict // another message has reset the session in the meantime
	}
	if err != nil {
		return Admitted{}, err
	}
	i.Acks.Heard(run)
	return Admitted{Outcome: ledger.OutcomeRun, Session: record.ID, Run: run.ID}, nil
}

// begin starts the run of a change in the change itself if nothing waits in its session. It returns nil if the session's
// worker has to claim the run.
func (i *Intake) begin(in Admission, record sessions.Record, change *ledger.Change) *work.Begun {
	if in.Exclusive || in.Edited || in.order != nil || len(change.Create)+len(change.End)+len(change.Save) > 0 {
		return nil
	}
	return i.Workers.Begin(change, record)
}

// commitBegun stores an event with its run, and tells the run's worker whether that succeeded.
func (i *Intake) commitBegun(ctx context.Context, in Admission, change ledger.Change, begun *work.Begun) error {
	if begun == nil {
		return i.commitEvent(ctx, in, ledger.OutcomeRun, change)
	}
	stored := false
	defer func() {
		if stored {
			begun.Stored()
		} else {
			begun.NotStored()
		}
	}()
	err := i.commitEvent(ctx, in, ledger.OutcomeRun, change)
	stored = err == nil
	return err
}

// newRun is the run of an event in a session.
func (i *Intake) newRun(in Admission, record sessions.Record, owner bool) sessions.Run {
	route := in.Route
	message := in.MessageID
	if in.Press != "" {
		route.Handle, message = "", "" // everyone sees the press, so everyone sees the answer; and the message belongs to the bot
	}
	kind := sessions.KindMessage
	if in.ordersOnly() {
		kind = sessions.KindCommand
	}
	label := i.messageLabel(in, owner)
	if in.Label.Valid() {
		label = flow.NewLabel(in.Label.Level(), label.Trust()).Join(in.Label)
	}
	if in.carries.Valid() { // the person who presses a button did not write its text
		label, owner = label.Join(in.carries), owner && in.carries.Trust() == flow.Trusted
	}
	return sessions.Run{
		ID: sessions.NewRunID(), Session: record.ID, Partition: record.Partition,
		Kind: kind, Status: sessions.RunQueued,
		Input: sessions.Input{
			Text: in.Text, Sender: in.Sender, Attachments: in.Attachments, Owner: owner,
			MessageID: message, Quotations: in.Quotations, Unread: in.Unread, More: in.More && in.order == nil, Order: in.order,
			Functions: in.Functions,
		},
		Route: route, Label: label, EventKey: eventKey(in), Accepted: i.Now(),
	}
}

// takeHistory moves the history of a conversation into its next run. A session that a program names has no
// conversation, and an order without a message tells the agent nothing.
func (i *Intake) takeHistory(ctx context.Context, in Admission, run *sessions.Run, change *ledger.Change) error {
	if in.Session != "" || !in.talks() {
		return nil
	}
	lines, err := i.Store.History(ctx, in.Route.Lane())
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
		if l.At.After(upto) { // the last line is not the latest if a clock was set back
			upto = l.At
		}
	}
	change.TrimHistory = append(change.TrimHistory, ledger.HistoryTrim{Lane: in.Route.Lane(), Through: upto})
	return nil
}

// emitUser shows a person's message to those who follow the session.
func (i *Intake) emitUser(run sessions.Run) {
	sender := run.Input.Sender
	i.Emit(sessions.Event{
		Session: run.Session, Run: run.ID, Type: sessions.EventUser,
		Text: usertext.Text(run.Input), Sender: &sender, At: run.Accepted, Label: run.Label,
	})
}

// editOrder is the order of an edit: it replaces the edited message by a new version. It is nil if no run has worked on the
// message.
func editOrder(ctx context.Context, store earlierStore, in Admission, session sessions.ID) (*sessions.Order, error) {
	last, err := runOf(ctx, store, in)
	switch {
	case err != nil || last == nil || last.Session != session:
		return nil, err
	case last.Status == sessions.RunQueued: // the new run replaces this one, see replaceEdited
		return last.Input.Order, nil
	}
	return &sessions.Order{Do: sessions.OrderEdit, Run: last.ID}, nil
}

// beginsInThread reports whether a message is the first that its session receives in a thread that others started.
func beginsInThread(in adapters.Inbound, change ledger.Change) bool {
	return in.Route.Thread != "" && !in.OpensThread && len(change.Create) > 0 && len(change.End) == 0
}

// threadStart removes the first message of a thread from the history of its channel, because the thread's session
// reads it.
func threadStart(in adapters.Inbound) ledger.HistoryMessage {
	at := in.Route
	at.Thread = ""
	return ledger.HistoryMessage{Lane: at.Lane(), Message: sessions.PlatformMessageID(in.Route.Thread)}
}
