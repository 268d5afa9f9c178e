package inbound

import (
	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/commands"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// Admission is an inbound event with what a program's request adds to it.
type Admission struct {
	adapters.Inbound
	// Session is the session that a request names. If it is empty, route and configuration choose the session.
	Session sessions.ID
	// Label is the label that a program gives its text. If it is invalid, the level of the place counts. Its trust is never
	// above the sender's.
	Label flow.Label
	// Exclusive asks for [request.ErrBusy] if the session has unfinished runs.
	Exclusive bool
	// Token is the named token of the API that made the request; nil for people.
	Token *decider.Token

	carries flow.Label // of the delivery whose button was pressed; invalid for other events

	fresh bool             // it starts a new session: the text after /new
	order *sessions.Order  // nil for an ordinary message
	turns *ledger.BotTurns // to store with the event; nil where turns are not counted
	found *place.Found     // what this attempt has read already
}

// arrival is the event in the form in which package place decides about it.
func (in Admission) arrival() place.Arrival {
	return place.Arrival{Inbound: in.Inbound, Session: in.Session, New: in.fresh, Order: in.order, Command: commands.KindOf(in.Inbound), Found: in.found}
}

// speaker is the sender as a principal.
func (in Admission) speaker() string { return sessions.Principal(in.Route.Channel, in.Sender.ID) }

// talks reports whether the event tells the agent something: a message or an edit, but no other order.
func (in Admission) talks() bool { return in.order == nil || in.order.Do == sessions.OrderEdit }

// ordersOnly reports whether the event is an order that the agent does not answer.
func (in Admission) ordersOnly() bool { return in.order != nil && !in.order.Do.Answered() }

// eventKey is the unique key of an event.
func eventKey(in Admission) string {
	return in.Route.Channel + "/" + in.Route.Account + "/" + in.Event
}

// Admitted says what became of an admission; for a repeated event, what became of the first.
type Admitted struct {
	Outcome ledger.Outcome
	Session sessions.ID
	Run     sessions.RunID // for outcome run
	// Notice is the gateway's own answer, if it gave one: a command's result, a pairing code.
	Notice string
	// NoticeID is the notice's delivery.
	NoticeID ledger.DeliveryID
	// Repeat: the event was accepted before.
	Repeat bool
}

// ignored is the result of an event that leads to nothing.
func ignored() Admitted { return Admitted{Outcome: ledger.OutcomeIgnored} }
