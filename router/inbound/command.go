package inbound

import (
	"context"
	"fmt"

	"sluice/policy"
	"sluice/router/commands"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// command works out a chat command, stores its effects and answers the sender. Event, effects and answer are one
// transaction, so a repeated event does nothing.
func (i *Intake) command(ctx context.Context, s *place.Settings, in Admission, owner bool, cmd commands.Command) (Admitted, error) {
	at := in
	if at.OpensThread {
		at.Route.Thread = "" // only the answer will be in the thread
	}
	at.found = nil // a command reads the current session
	call := commands.Call{In: at.arrival(), Token: in.Token, Owner: owner, Args: cmd.Args, Quotes: policy.NewQuotation(i.SinkLevel(in.Route))}
	may, err := i.Commands.May(ctx, cmd.Name, call)
	switch {
	case err != nil:
		return Admitted{}, fmt.Errorf("command /%s: %w", cmd.Name, err)
	case !may:
		return i.denyCommand(ctx, in, cmd)
	case cmd.Says():
		in.Text, in.fresh = cmd.Args, true
		return i.admitRun(ctx, s, in, owner)
	}
	if cmd.Guesses() {
		defer i.Pairings.Guess()()
	}
	in.found = nil
	if call.Session, call.Fresh, err = i.Places.SessionFor(ctx, s, call.In, owner); err != nil {
		return Admitted{}, err
	}
	answer, err := i.Commands.Execute(ctx, cmd.Name, call)
	if err != nil {
		return Admitted{}, fmt.Errorf("command /%s: %w", cmd.Name, err)
	}
	if answer.Order != nil && answer.Order.Do == sessions.OrderEdit {
		return i.editAgain(ctx, s, in, owner, edit{answer.Order.Run, cmd.Args})
	}
	if answer.Order != nil { // a run carries it out
		in.order, in.More = answer.Order, false
		return i.admitRun(ctx, s, in, owner)
	}
	notice := i.Composer.Notice(in.Route, answer.Text)
	notice.Label = call.Quotes.Label()
	if answer.Asks != "" {
		notice.ConfirmAbout(answer.Asks, answer.Controls)
	}
	if !call.Fresh {
		notice.Session = call.Session.ID
	}
	change := answer.Change
	change.Deliver = append([]ledger.Delivery{notice}, change.Deliver...) // the first notice answers the event
	if err := i.commitEvent(ctx, in, ledger.OutcomeCommand, change); err != nil {
		return Admitted{}, err
	}
	return Admitted{Outcome: ledger.OutcomeCommand, Session: notice.Session, Notice: answer.Text, NoticeID: notice.ID}, nil
}

// denyCommand audits an owner's command from another person. It tells them in a direct chat or in answer to the
// platform's menu, but not in a group.
func (i *Intake) denyCommand(ctx context.Context, in Admission, cmd commands.Command) (Admitted, error) {
	change := ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{{
		At: i.Now(), Actor: in.speaker(), Action: "command.denied",
		Object: "/" + cmd.Name, Label: i.Places.Label(in.Route, false),
		Detail: map[string]string{"conversation": string(in.Route.Conversation), "reason": "not an owner"},
	}}}}
	got := Admitted{Outcome: ledger.OutcomeCommand}
	if in.Route.ChatType == sessions.Direct || commands.FromMenu(in.Inbound) {
		got.Notice = "Only an owner can use /" + cmd.Name + "."
		notice := i.Composer.Notice(in.Route, got.Notice)
		got.NoticeID, change.Deliver = notice.ID, []ledger.Delivery{notice}
	}
	return got, i.commitEvent(ctx, in, ledger.OutcomeCommand, change)
}
