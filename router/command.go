package router

import (
	"context"
	"fmt"

	"sluice/policy"
	"sluice/router/commands"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// command works out a chat command, stores what it wants and answers its sender. The answer and the effect are one
// transaction with the event, so a repeated event does nothing.
func (r *Router) command(ctx context.Context, s *place.Settings, in Admission, owner bool, cmd commands.Command) (Admitted, error) {
	at := in
	if at.OpensThread {
		at.Route.Thread = "" // only the answer will be in the thread
	}
	at.found = nil // a command looks at the session as it is now
	call := commands.Call{In: at.arrival(), Token: in.Token, Owner: owner, Args: cmd.Args, Quotes: policy.NewQuotation(r.gate.SinkLevel(in.Route))}
	may, err := r.commands.May(ctx, cmd.Name, call)
	switch {
	case err != nil:
		return Admitted{}, fmt.Errorf("command /%s: %w", cmd.Name, err)
	case !may:
		return r.denyCommand(ctx, in, cmd)
	case cmd.Says():
		in.Text, in.fresh = cmd.Args, true
		return r.admitRun(ctx, s, in, owner)
	}
	if cmd.Guesses() {
		defer r.Pairings.Guess()()
	}
	in.found = nil
	if call.Session, call.Fresh, err = r.places.SessionFor(ctx, s, call.In, owner); err != nil {
		return Admitted{}, err
	}
	answer, err := r.commands.Carry(ctx, cmd.Name, call)
	if err != nil {
		return Admitted{}, fmt.Errorf("command /%s: %w", cmd.Name, err)
	}
	if answer.Order != nil {
		return r.admitOrder(ctx, s, in, owner, answer.Order)
	}
	notice := r.compose.Notice(in.Route, answer.Text)
	notice.Label = call.Quotes.Label()
	if !call.Fresh {
		notice.Session = call.Session.ID
	}
	change := answer.Change
	change.Deliver = append([]ledger.Delivery{notice}, change.Deliver...) // the first answers the event
	if err := r.commitEvent(ctx, in, ledger.OutcomeCommand, change); err != nil {
		return Admitted{}, err
	}
	return Admitted{Outcome: ledger.OutcomeCommand, Session: notice.Session, Notice: answer.Text, NoticeID: notice.ID}, nil
}

// denyCommand audits an owner's command that somebody else gave. The sender is told where nobody else reads it; a group is
// told nothing.
func (r *Router) denyCommand(ctx context.Context, in Admission, cmd commands.Command) (Admitted, error) {
	change := ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{{
		At: r.now(), Actor: in.speaker(), Action: "command.denied",
		Object: "/" + cmd.Name, Label: r.places.Label(in.Route, false),
		Detail: map[string]string{"conversation": string(in.Route.Conversation), "reason": "not an owner"},
	}}}}
	got := Admitted{Outcome: ledger.OutcomeCommand}
	if in.Route.ChatType == sessions.Direct || commands.FromMenu(in.Inbound) {
		got.Notice = "Only an owner can use /" + cmd.Name + "."
		notice := r.compose.Notice(in.Route, got.Notice)
		got.NoticeID, change.Deliver = notice.ID, []ledger.Delivery{notice}
	}
	return got, r.commitEvent(ctx, in, ledger.OutcomeCommand, change)
}
