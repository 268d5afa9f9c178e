package router

import (
	"context"
	"errors"
	"fmt"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/commands"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/sessions"
)

// A platform never gets what a button means, only its name: the delivery and the button's place in it. So whatever a platform
// or a person's app hands back, it can only name a button that the gateway has shown, and the row says of what kind it is:
//
//	Delivery.Controls   the gateway's own: a press is the command, given by who presses
//	Delivery.Buttons    an agent's or a program's: a press is a message of who presses, with the delivery's label
//
// Nothing that an agent, a file or the API gives gets into Controls.

// pressed is what the press of a button says.
type pressed struct {
	control ledger.Control // of an agent's button the zero one
	asks    ledger.Question
	text    string
	label   flow.Label
}

// errNoButton: no button of that name was shown where it was pressed.
var errNoButton = errors.New("no such button")

// findPress finds the button that was pressed.
func findPress(ctx context.Context, store pressStore, in Admission) (pressed, error) {
	id, n, ok := ledger.ParsePress(in.Press)
	if !ok {
		return pressed{}, errNoButton
	}
	d, err := store.Delivery(ctx, id)
	if errors.Is(err, sessions.ErrNotFound) {
		return pressed{}, errNoButton
	}
	if err != nil {
		return pressed{}, fmt.Errorf("read delivery: %w", err)
	}
	here, err := shownHere(ctx, store, d, in)
	switch {
	case err != nil:
		return pressed{}, err
	case !here || n >= len(d.Controls)+len(d.Buttons):
		return pressed{}, errNoButton
	case n < len(d.Controls):
		return pressed{control: d.Controls[n], asks: d.Asks}, nil
	}
	return pressed{text: d.Buttons[n-len(d.Controls)].Value, label: d.Label}, nil
}

// pressStore is what a press needs of the store.
type pressStore interface {
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
	CanonicalConversation(ctx context.Context, channel, account string, id sessions.ConversationID) (sessions.ConversationID, error)
}

// shownHere reports whether a delivery shows where the press was made: apps can hand back the name of any button.
func shownHere(ctx context.Context, store pressStore, d ledger.Delivery, in Admission) (bool, error) {
	if in.Session != "" {
		return d.Session == in.Session, nil
	}
	at, to := in.Route, d.Route
	if at.Channel != to.Channel || at.Account != to.Account || !d.Shows(in.MessageID) {
		return false, nil
	}
	if at.Conversation == to.Conversation || to.ChatType == sessions.Direct && string(to.Conversation) == string(in.Sender.ID) {
		return true, nil
	}
	for _, id := range []*sessions.ConversationID{&at.Conversation, &to.Conversation} {
		oldest, err := store.CanonicalConversation(ctx, at.Channel, at.Account, *id)
		if err != nil {
			return false, fmt.Errorf("resolve conversation: %w", err)
		}
		*id = oldest
	}
	return at.Conversation == to.Conversation, nil
}

// admitPress takes the press of a button by somebody who is admitted.
func (r *Router) admitPress(ctx context.Context, s *place.Settings, in Admission, how place.Admit, owner bool) (Admitted, error) {
	p, err := findPress(ctx, r.store, in)
	switch {
	case errors.Is(err, errNoButton):
		return r.answerEvent(ctx, s, in, ledger.OutcomeIgnored, "That button no longer works. Please type your answer.")
	case err != nil:
		return Admitted{}, err
	case p.control != (ledger.Control{}):
		return r.admitControl(ctx, s, in, owner, p)
	case how == place.AdmitCommand:
		return r.refuse(ctx, s, in)
	}
	in.Text, in.carries = p.text, p.label
	if cmd, ok := commands.Parse(in.Text); ok && policy.CheckPress.Skipped() {
		return r.command(ctx, s, in, owner, cmd)
	}
	return r.admitRun(ctx, s, in, owner)
}

// admitControl carries out the command of a button of the gateway's own, as if who presses had typed it.
func (r *Router) admitControl(ctx context.Context, s *place.Settings, in Admission, owner bool, p pressed) (Admitted, error) {
	decided, err := outbound.OutcomeOf(ctx, r.store, p.asks, r.now())
	if err != nil {
		return Admitted{}, err
	}
	if decided.Text != "" {
		return r.answerEvent(ctx, s, in, ledger.OutcomeIgnored, "That is already decided.")
	}
	return r.command(ctx, s, in, owner, commands.Command{Name: p.control.Command, Args: p.control.Args})
}
