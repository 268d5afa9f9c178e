package ledger

import (
	"context"
	"time"

	"sluice/sessions"
)

// Change is one transaction of the router: a sessions change and what goes with it, all or nothing.
type Change struct {
	sessions.Change
	// Event is the inbound event that caused the change. A known key is ErrDuplicate and changes nothing.
	Event *Event
	// Media inserts files. A known id is ErrDuplicate.
	Media []Media
	// Deliver inserts deliveries; the store gives them their Seq. A known id or idempotency key is ErrDuplicate.
	Deliver []Delivery
	// Deliveries moves deliveries from one status to another.
	Deliveries []DeliveryMove
	// AppendHistory appends unmentioned talk of groups; only the newest Keep lines of a lane stay.
	AppendHistory []HistoryAppend
	// TrimHistory drops the history lines of a lane that a run has taken over.
	TrimHistory []HistoryTrim
	// Peers notes whose direct chats are, where they have ids of their own.
	Peers []DirectPeer
	// EditHistory replaces the text of the history line of a message that was edited, if it is still one.
	EditHistory []HistoryEdit
	// DeleteHistory drops the history lines of messages that were taken back.
	DeleteHistory []HistoryMessage
	// Revised notes the newest run of a message that was edited.
	Revised *Revision
	// Bots replaces what bots said in a place since a person last spoke there.
	Bots *BotTurns
	// Requests inserts pairing requests of people who have none, or whose one is
	// pending or denied and has expired when the new one was made; else ErrConflict.
	Requests []Pairing
	// Pairings inserts or replaces pairing requests by (channel, account, user).
	Pairings []Pairing
	// Aliases records that a conversation has got a new id.
	Aliases []Alias
	// Exchanges inserts those of revision 1 (a known id is ErrDuplicate) and replaces
	// others whose stored revision is one less, else ErrConflict.
	Exchanges []Exchange
	// Chains adds to what chains have used.
	Chains []ChainUse
	// Ask inserts approvals. A known id is ErrDuplicate.
	Ask []Approval
	// Approvals moves approvals from one status to another.
	Approvals []ApprovalMove
	// Retire notes that the buttons of questions were taken off, or never can be; ErrConflict if that was noted before.
	Retire []DeliveryID
	// DenyPending denies the approvals that are still pending when their runs end.
	DenyPending []PendingDenial
}

// PendingDenial denies the pending approvals of a run.
type PendingDenial struct {
	Run    sessions.RunID
	Reason string
	At     time.Time
}

// Store is the database as the router's stages share it, cut by role. A stage takes the roles that it needs, or declares a
// port of its own. A read sees every commit that returned before it. Errors: the sentinels of package sessions, or one
// that says what is wrong with the database and what to do.
type Store struct {
	sessions.Store
	Committer
	Intake
	People
	Sessions
	Runs
	Deliveries
	Approvals
	Exchanges
	Files
	Partitions
	Maintenance
}

// NewStore makes a Store of what has all roles.
func NewStore[S interface {
	sessions.Store
	Committer
	Intake
	People
	Sessions
	Runs
	Deliveries
	Approvals
	Exchanges
	Files
	Partitions
	Maintenance
}](s S) *Store {
	return &Store{s, s, s, s, s, s, s, s, s, s, s, s}
}

// The roles of a store.
type (
	// Committer stores changes.
	Committer interface {
		// Commit applies the change in one durable transaction. Waiting changes share one commit.
		Commit(ctx context.Context, change Change) error
	}
	// Intake reads what has come in.
	Intake interface {
		// Event reads what became of an inbound event.
		Event(ctx context.Context, key string) (Event, error)
		// History reads a group's unmentioned talk, oldest first.
		History(ctx context.Context, lane sessions.Lane) ([]sessions.HistoryLine, error)
		// Revision reads which run an edited message has led to last; ErrNotFound if it was never edited.
		Revision(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (Revision, error)
		// BotTurns reads what bots said in a place since a person spoke there.
		BotTurns(ctx context.Context, place sessions.Lane) (BotTurns, error)
		// Posted reads the delivery that has put a message into a conversation, if it is one
		// of the last few hundred on any platform; else ErrNotFound.
		Posted(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (Delivery, error)
		// CountAudit counts the entries of an action since a time, at most limit.
		CountAudit(ctx context.Context, action string, since time.Time, limit int) (int, error)
	}
	// People reads who writes, and where.
	People interface {
		// PeerOf reads whose a direct chat is, and nobody for other conversations; ErrNotFound where nobody was noted as heard.
		PeerOf(ctx context.Context, channel, account string, conversation sessions.ConversationID) (sessions.UserID, error)
		// PairingOf reads a person's pairing, or returns ErrNotFound.
		PairingOf(ctx context.Context, channel, account string, user sessions.UserID) (Pairing, error)
		// ListPairings reads the pairings of a status, newest first; an empty channel means all.
		ListPairings(ctx context.Context, channel, account string, status PairingStatus) ([]Pairing, error)
		// CanonicalConversation follows aliases to the oldest id of a conversation.
		CanonicalConversation(ctx context.Context, channel, account string, id sessions.ConversationID) (sessions.ConversationID, error)
	}
	// Sessions finds sessions.
	Sessions interface {
		// SessionByKey reads the live session of a key.
		SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error)
		// SendersBelow reads the live sessions of a conversation's threads and topics that have a send policy of their own, at most limit.
		SendersBelow(ctx context.Context, conversation sessions.Key, limit int) ([]sessions.Record, error)
		// ExpiredSessions lists live sessions that are over, at most limit. A session with an unfinished run is not.
		ExpiredSessions(ctx context.Context, e Expiry, limit int) ([]sessions.ID, error)
	}
	// Runs reads runs.
	Runs interface {
		// WaitingRuns reads the runs of a session that have not ended, in order of Seq, at most limit.
		WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error)
		// LastHeard reads when the newest message of a person in a session was accepted, or returns ErrNotFound.
		LastHeard(ctx context.Context, id sessions.ID) (time.Time, error)
		// AbortRequested reads who has asked for a run's end, if anybody.
		AbortRequested(ctx context.Context, id sessions.RunID) (sessions.AbortCause, error)
		// AbortsRequested lists the sessions of a partition with a running run that was asked to end.
		AbortsRequested(ctx context.Context, partition int) ([]sessions.ID, error)
		// Run reads a run.
		Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
		// Batch reads the runs that are or were worked together with a run, itself among them, in no order; none if there is no such run.
		Batch(ctx context.Context, id sessions.RunID) ([]sessions.Run, error)
	}
	// Deliveries reads deliveries.
	Deliveries interface {
		// LaneDeliveries reads the deliveries of a lane that are queued or sending, in order of Seq, at most limit.
		LaneDeliveries(ctx context.Context, lane sessions.Lane, limit int) ([]Delivery, error)
		// HeldDeliveries reads the deliveries in status held whose next try is not after now, the oldest first, at most limit.
		HeldDeliveries(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
		// DecidedQuestions reads deliveries that are done with and whose question is not open any more, the oldest first, at most limit.
		DecidedQuestions(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
		// RunDelivery reads the reply delivery of a run in status preview, or returns ErrNotFound.
		RunDelivery(ctx context.Context, run sessions.RunID) (Delivery, error)
		// WithheldAnswer reads the delivery of a run's answer that is held, blocked or expired, or that was held and is allowed since; else ErrNotFound.
		WithheldAnswer(ctx context.Context, session sessions.ID, run sessions.RunID) (Delivery, error)
		// Delivery reads a delivery.
		Delivery(ctx context.Context, id DeliveryID) (Delivery, error)
		// DeliveryByIdempotency reads the delivery of an idempotency key.
		DeliveryByIdempotency(ctx context.Context, key string) (Delivery, error)
	}
	// Approvals reads what waits for a person.
	Approvals interface {
		// Approval reads an approval.
		Approval(ctx context.Context, id ApprovalID) (Approval, error)
	}
	// Exchanges reads what agents say to each other.
	Exchanges interface {
		// Exchange reads an exchange.
		Exchange(ctx context.Context, id string) (Exchange, error)
		// ExchangeByKey reads the exchange of a request's key. One that is older than retention may have lost what was said in it.
		ExchangeByKey(ctx context.Context, key string) (Exchange, error)
		// ListExchanges reads exchanges, the newest first.
		ListExchanges(ctx context.Context, q ExchangeQuery) ([]Exchange, error)
		// Chain reads what the runs of a chain have used.
		Chain(ctx context.Context, id string) (ChainUse, error)
	}
	// Files reads files of messages.
	Files interface {
		// MediaInfo reads what a file is, without its content; ErrNotFound if it is not kept any more.
		MediaInfo(ctx context.Context, id sessions.MediaID) (Media, error)
		// Media reads a file with its content; ErrNotFound if it is not kept any more.
		Media(ctx context.Context, id sessions.MediaID) (Media, error)
		// MediaHeld counts the bytes of the files of a session, each with so much more for itself. An empty id: of those without a session.
		MediaHeld(ctx context.Context, id sessions.ID, each int64) (int64, error)
	}
	// Partitions gives this replica its part of the work.
	Partitions interface {
		// TakePartition makes this replica the owner of a partition and returns the new epoch, greater than any before.
		TakePartition(ctx context.Context, partition int, owner string) (epoch int64, err error)
		// WaitingLanes lists the lanes of a partition with work: session lanes with
		// queued or running runs, conversation lanes with queued or sending deliveries.
		WaitingLanes(ctx context.Context, partition int) ([]sessions.Lane, error)
	}
	// Maintenance removes what is old.
	Maintenance interface {
		// SweepMemories ends memories that have expired, and deletes versions that ended long before now; at most limit of each. It returns how many.
		SweepMemories(ctx context.Context, now time.Time, limit int) (int, error)
		// Prune removes some rows that ended long ago and that nothing needs any more. Event keys stay.
		Prune(ctx context.Context, p Prune) (Pruned, error)
	}
)
