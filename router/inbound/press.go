package inbound

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

// A platform gets only the name of a button: the delivery and the button's position in it. The meaning stays in the store. So
// a platform or a person's app can only name a button that the gateway has shown, and the stored delivery says whose it is:
//
//	Delivery.Controls   the gateway's: a press is a command of the person who presses
//	Delivery.Buttons    an agent's or a program's: a press is a message from the person who presses, with the delivery's label
//
// Text from an agent, a file or the API never gets into Controls.

// pressed is the meaning of a button: a command of the gateway, or a text.
type pressed struct {
	control ledger.Control // zero for a text
	asks    ledger.Question
	text    string
	label   flow.Label
}

// errNoButton: the conversation does not show this button.
var errNoButton = errors.New("no such button")

// findPress finds the button that was pressed.
func findPress(ctx context.Context, store ButtonStore, in Admission) (pressed, error) {
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

// shownHere reports whether a delivery is shown in the conversation of the press: an app can send the name of any
// button.
func shownHere(ctx context.Context, store ButtonStore, d ledger.Delivery, in Admission) (bool, error) {
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

// admitPress takes the press of a button by an admitted person.
func (i *Intake) admitPress(ctx context.Context, s *place.Settings, in Admission, how place.Admit, owner bool) (Admitted, error) {
	p, err := findPress(ctx, i.Buttons, in)
	switch {
	case errors.Is(err, errNoButton):
		return i.answerEvent(ctx, in, ledger.OutcomeIgnored, "That button no longer works. Please type your answer.")
	case err != nil:
		return Admitted{}, err
	case p.control != (ledger.Control{}):
		return i.admitControl(ctx, s, in, owner, p)
	case how == place.AdmitCommand:
		return i.refuse(ctx, in)
	}
	in.Text, in.carries = p.text, p.label
	if cmd, ok := commands.Parse(in.Text); ok && policy.CheckPress.Skipped() {
		return i.command(ctx, s, in, owner, cmd)
	}
	return i.admitRun(ctx, s, in, owner)
}

// admitControl carries out the command of one of the gateway's own buttons, as if the person had typed it.
func (i *Intake) admitControl(ctx context.Context, s *place.Settings, in Admission, owner bool, p pressed) (Admitted, error) {
	var decided outbound.Outcome
	if !p.control.Standing {
		var err error
		if decided, err = outbound.OutcomeOf(ctx, i.Buttons, p.asks, i.Now()); err != nil {
			return Admitted{}, err
		}
	}
	if decided.Text != "" {
		return i.answerEvent(ctx, in, ledger.OutcomeIgnored, "This has already been decided.")
	}
	return i.command(ctx, s, in, owner, commands.Command{Name: p.control.Command, Args: p.control.Args})
}
