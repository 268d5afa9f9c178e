package place

import (
	"context"
	"time"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Store is what places need of the database.
type Store interface {
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error)
	WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error)
	LastHeard(ctx context.Context, id sessions.ID) (time.Time, error)
	PairingOf(ctx context.Context, channel, account string, user sessions.UserID) (ledger.Pairing, error)
	CanonicalConversation(ctx context.Context, channel, account string, id sessions.ConversationID) (sessions.ConversationID, error)
}

// Places decides who is heard where, and in which session. All fields are required.
type Places struct {
	Store      Store
	Settings   func() *Settings                                                     // the present ones
	SinkLevel  func(route sessions.Route) flow.Level                                // the highest level that may be said by a route
	Judge      func(record sessions.Record, who string, owner bool) policy.Decision // whether a session may be replaced or deleted
	Now        func() time.Time
	Partitions int
}

// CommandKind says whether a message is a chat command, and whose.
type CommandKind int

// The kinds of commands.
const (
	NoCommand     CommandKind = iota
	PublicCommand             // anybody who is heard may give it
	OwnerCommand              // only an owner may give it
)

// Arrival is an inbound event with what else decides where it belongs.
type Arrival struct {
	adapters.Inbound
	Session sessions.ID     // that a program's request names; empty: by route and configuration
	New     bool            // it asks for a new session
	Order   *sessions.Order // a command that the session's worker carries out; nil for other events
	Command CommandKind
	Found   *Found // of one attempt to admit the event; nil: everything is read again
}

// Speaker is who has sent the event, as a principal.
func (in Arrival) Speaker() string { return sessions.Principal(in.Route.Channel, in.Sender.ID) }
