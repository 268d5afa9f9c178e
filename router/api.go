package router

import (
	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/commands"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// Admission is an inbound event with what a program's request says besides.
type Admission struct {
	adapters.Inbound
	// Session is the session that is meant, for requests that name one; empty: by route and configuration.
	Session sessions.ID
	// Label is that of the text where a program says it; invalid: what is said at the route is as secret as the
	// place. Its trust is never more than the sender's.
	Label flow.Label
	// Exclusive asks for [request.ErrBusy] where the session has unfinished runs.
	Exclusive bool
	// Token is the named token of the API with which it is said; nil: there is none.
	Token *decider.Token

	carries flow.Label // of the delivery whose button was pressed; invalid: none was

	fresh bool             // it starts a new session: the text after /new
	order *sessions.Order  // nil: it is an ordinary message
	turns *ledger.BotTurns // to be stored with the event; nil: none are counted
	found *place.Found     // what this attempt has read already
}

// arrival is the event as its place is decided about.
func (in Admission) arrival() place.Arrival {
	return place.Arrival{Inbound: in.Inbound, Session: in.Session, New: in.fresh, Order: in.order, Command: commands.KindOf(in.Inbound), Found: in.found}
}

// speaker is who has sent the event, as a principal.
func (in Admission) speaker() string { return sessions.Principal(in.Route.Channel, in.Sender.ID) }

// Admitted says what became of an admission; for a repeated event, what became of the first.
type Admitted struct {
	Outcome ledger.Outcome
	Session sessions.ID
	Run     sessions.RunID // Outcome run
	// Notice is the gateway's own answer, if it gave one: a command's result, a pairing code.
	Notice string
	// NoticeID is the notice's delivery.
	NoticeID ledger.DeliveryID
	// Repeat: the event was accepted before.
	Repeat bool
}
