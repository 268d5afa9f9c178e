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
	// Session is the session that a request names. If it is empty, the route and the configuration choose the
	// session.
	Session sessions.ID
	// Label is the label that a program gives its text. If it is invalid, the level of the place applies. Its trust
	// is never above the sender's.
	Label flow.Label
	// Exclusive asks for [request.ErrBusy] if the session has unfinished runs.
	Exclusive bool
	// Functions are those of the program, which the agent may call.
	Functions []sessions.Function
	// Token is the named token of the API that made the request; nil for people.
	Token *decider.Token

	carries flow.Label // of the delivery with the pressed button; invalid for other events

	counted *bool            // whether it was counted towards limits; nil where nothing is counted
	fresh   bool             // whether it starts a new session: the text after /new
	order   *sessions.Order  // nil for an ordinary message
	turns   *ledger.BotTurns // to store with the event; nil where turns are not counted
	found   *place.Found     // what this attempt has read already
}

// arrival is the event as package place needs it.
func (in Admission) arrival() place.Arrival {
	return place.Arrival{Inbound: in.Inbound, Session: in.Session, New: in.fresh, Order: in.order, Command: commands.KindOf(in.Inbound), Found: in.found}
}

// overAPI reports whether a caller of the API (a program, the page, the CLI) waits for the result. Errors go to it, not into a chat.
func (in Admission) overAPI() bool { return in.Session != "" }

func (in Admission) speaker() string { return sessions.Principal(in.Route.Channel, in.Sender.ID) }

// talks reports whether the event is for the agent: a message or an edit, but no other order.
func (in Admission) talks() bool { return in.order == nil || in.order.Do == sessions.OrderEdit }

// ordersOnly reports whether the event is an order that the agent does not answer.
func (in Admission) ordersOnly() bool { return in.order != nil && !in.order.Do.Answered() }

func eventKey(in Admission) string {
	return in.Route.Channel + "/" + in.Route.Account + "/" + in.Event
}

// Admitted is the result of an admission; for a repeated event, the result of the first.
type Admitted struct {
	Outcome ledger.Outcome
	Session sessions.ID
	Run     sessions.RunID // for outcome run
	// Notice is the gateway's own answer, if any: the result of a command or a pairing code.
	Notice string
	// NoticeID is the notice's delivery.
	NoticeID ledger.DeliveryID
	// Repeat: the event was already accepted.
	Repeat bool
}

// admitted is a result, or the zero value.
func admitted(result *Admitted) Admitted {
	if result == nil {
		return Admitted{}
	}
	return *result
}

// ignored is the result of an event without effect.
func ignored() Admitted { return Admitted{Outcome: ledger.OutcomeIgnored} }
