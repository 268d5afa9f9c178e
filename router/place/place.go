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

// Store is the database, as places read it.
type Store interface {
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error)
	ArchivedSession(ctx context.Context, key sessions.Key) (sessions.Record, error)
	WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error)
	LastHeard(ctx context.Context, id sessions.ID) (time.Time, error)
	PairingOf(ctx context.Context, channel, account string, user sessions.UserID) (ledger.Pairing, error)
	CanonicalConversation(ctx context.Context, channel, account string, id sessions.ConversationID) (sessions.ConversationID, error)
}

// Places decides who may talk to the bot where, and in which session. All fields are required.
type Places struct {
	Store      Store
	Settings   func() *Settings                                                     // the current ones
	SinkLevel  func(route sessions.Route) flow.Level                                // the highest level that may be sent on a route
	Judge      func(record sessions.Record, who string, owner bool) policy.Decision // whether a session may be replaced or deleted
	Now        func() time.Time
	Partitions int
}

// CommandKind says whether a message is a chat command, and whose.
type CommandKind int

// The kinds of commands.
const (
	NoCommand     CommandKind = iota
	PublicCommand             // every admitted person may give it
	OwnerCommand              // only an owner may give it
)

// Arrival is an inbound event with everything that decides where it belongs.
type Arrival struct {
	adapters.Inbound
	Session sessions.ID     // the session that a program names; empty: by route and configuration
	New     bool            // it asks for a new session
	Order   *sessions.Order // of a command that the session's worker carries out; else nil
	Command CommandKind
	Found   *Found // the cache of one attempt to admit the event; may be nil
}

// Speaker is the sender as a principal.
func (in Arrival) Speaker() string { return sessions.Principal(in.Route.Channel, in.Sender.ID) }
