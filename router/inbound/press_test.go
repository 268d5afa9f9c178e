package inbound

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

var errBroken = errors.New("the store is broken")

// shown are deliveries by id, and older ids of conversations.
type shown struct {
	ButtonStore
	deliveries map[ledger.DeliveryID]ledger.Delivery
	older      map[sessions.ConversationID]sessions.ConversationID
	broken     bool // conversations can't be read
}

func (s shown) Delivery(_ context.Context, id ledger.DeliveryID) (ledger.Delivery, error) {
	if id == "dlv_broken" {
		return ledger.Delivery{}, errBroken
	}
	d, ok := s.deliveries[id]
	if !ok {
		return d, sessions.ErrNotFound
	}
	return d, nil
}

func (s shown) CanonicalConversation(_ context.Context, _, _ string, id sessions.ConversationID) (sessions.ConversationID, error) {
	if s.broken {
		return "", errBroken
	}
	if oldest, ok := s.older[id]; ok {
		return oldest, nil
	}
	return id, nil
}

// question is a sent delivery in the group g1 with a button of the gateway and one of an agent.
func question() ledger.Delivery {
	return ledger.Delivery{
		ID: "dlv_1", Session: "ses_1", Status: ledger.DeliverySent, Route: inGroup("").Route, Asks: "apr_1",
		Label:    flow.NewLabel(flow.Internal, flow.Untrusted),
		Receipts: []adapters.Receipt{{MessageID: "m1"}},
		Controls: []ledger.Control{{Label: "Allow", Command: "approve", Args: "apr_1 allow"}},
		Buttons:  []adapters.Button{{Label: "Yes", Value: "yes please"}},
	}
}

// A press means what the stored delivery says, and only where the delivery is shown.
func TestWhatAPressMeans(t *testing.T) {
	t.Parallel()
	control := pressed{control: question().Controls[0], asks: "apr_1"}
	button := pressed{text: "yes please", label: question().Label}
	nothing := func(*Admission) {}
	for name, c := range map[string]struct {
		press string
		where func(in *Admission)
		want  pressed
	}{
		"the gateway's button":     {"dlv_1/0", nothing, control},
		"an agent's button":        {"dlv_1/1", nothing, button},
		"no such button":           {"dlv_1/2", nothing, pressed{}},
		"a negative position":      {"dlv_1/-1", nothing, pressed{}},
		"no position":              {"dlv_1", nothing, pressed{}},
		"a word for a position":    {"dlv_1/approve", nothing, pressed{}},
		"no such delivery":         {"dlv_9/0", nothing, pressed{}},
		"another group":            {"dlv_1/0", func(in *Admission) { in.Route.Conversation = "g2" }, pressed{}},
		"another account":          {"dlv_1/0", func(in *Admission) { in.Route.Account = "other" }, pressed{}},
		"another channel":          {"dlv_1/0", func(in *Admission) { in.Route.Channel = "other" }, pressed{}},
		"another message":          {"dlv_1/0", func(in *Admission) { in.MessageID = "m2" }, pressed{}},
		"the group's new id":       {"dlv_1/1", func(in *Admission) { in.Route.Conversation = "g1-new" }, button},
		"by a program":             {"dlv_1/1", func(in *Admission) { in.Session = "ses_1" }, button},
		"by a program, elsewhere":  {"dlv_1/1", func(in *Admission) { in.Session = "ses_2" }, pressed{}},
		"a direct chat":            {"dlv_direct/1", func(in *Admission) { in.Route.Conversation = "chat-of-ann" }, button},
		"another's direct chat":    {"dlv_direct/1", func(in *Admission) { in.Sender.ID = "bob" }, pressed{}},
		"quicker than the receipt": {"dlv_sending/1", func(in *Admission) { in.MessageID = "m9" }, button},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct, sending := question(), question()
			direct.Route = said("").Route
			sending.Status, sending.Receipts = ledger.DeliverySending, nil
			store := shown{
				deliveries: map[ledger.DeliveryID]ledger.Delivery{"dlv_1": question(), "dlv_direct": direct, "dlv_sending": sending},
				older:      map[sessions.ConversationID]sessions.ConversationID{"g1-new": "g1"},
			}
			in := inGroup("")
			in.Press, in.MessageID = c.press, "m1"
			c.where(&in)
			got, err := findPress(t.Context(), store, in)
			require.Equal(t, c.want, got)
			if c.want == (pressed{}) {
				require.ErrorIs(t, err, errNoButton)
				return
			}
			require.NoError(t, err)
		})
	}
}

// A database that fails is not a button that no longer works: the platform sends the press again.
func TestAPressWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	in := inGroup("")
	in.Press, in.MessageID = "dlv_broken/0", "m1"
	_, err := findPress(t.Context(), shown{}, in)
	require.ErrorIs(t, err, errBroken)
	in.Press, in.Route.Conversation = "dlv_1/0", "g2"
	_, err = findPress(t.Context(), shown{deliveries: map[ledger.DeliveryID]ledger.Delivery{"dlv_1": question()}, broken: true}, in)
	require.ErrorIs(t, err, errBroken)
}
