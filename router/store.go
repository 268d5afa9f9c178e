package router

import (
	"context"
	"time"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
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
	// Remember appends unmentioned talk of groups; only the newest Keep lines of a lane stay.
	Remember []Remembered
	// Forget drops the history lines of a lane that a run has taken over.
	Forget []Forget
	// Peers notes whose direct chats are, where they have ids of their own.
	Peers []DirectPeer
	// Reword replaces the text of the history line of a message that was edited, if it is still one.
	Reword []Reworded
	// Unsay drops the history lines of messages that were taken back.
	Unsay []Unsaid
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
	// Unask denies what is still pending of runs that end.
	Unask []Unask
}

// Event is one inbound platform event. It is kept for ever: it is what makes a repeat a repeat.
type Event struct {
	Key      string // "<channel>/<account>/<event>"
	Outcome  Outcome
	Session  sessions.ID    // empty if none
	Run      sessions.RunID // of Outcome run
	Notice   DeliveryID     // the gateway's own answer to it; empty for none
	Accepted time.Time
}

// Outcome says what became of an event.
type Outcome string

// The outcomes.
const (
	OutcomeRun     Outcome = "run"     // a run was queued
	OutcomeCommand Outcome = "command" // a chat command was carried out
	OutcomeHistory Outcome = "history" // kept as a group's history
	OutcomePairing Outcome = "pairing" // an unknown person; a code was told or is pending
	OutcomeIgnored Outcome = "ignored" // not admitted by policy
	OutcomeMoved   Outcome = "moved"   // a conversation got a new id
	OutcomeDeleted Outcome = "deleted" // a message was taken back
)

// DeliveryID names a delivery: "dlv_" and 32 hex digits that sort by time.
type DeliveryID string

// DeliveryStatus is where a delivery stands.
type DeliveryStatus string

// The delivery statuses.
//
//	preview ──► queued ──► sending ──► sent
//	              ▲  │         ├─────► queued (again later) | failed (dead letter)
//	              │  │         └─────► unknown (its answer was lost, and the platform can't be asked)
//	       retry  │  └──► blocked (by the gate) | expired | discarded
//	              └──► held (by a rule) ──► queued (allowed) | blocked (denied) | expired | discarded
//
// Preview is a message that is still being written by edits. Unknown, failed,
// blocked and expired ones can be listed, sent again and discarded by a person.
const (
	DeliveryPreview   DeliveryStatus = "preview"
	DeliveryQueued    DeliveryStatus = "queued"
	DeliveryHeld      DeliveryStatus = "held"
	DeliverySending   DeliveryStatus = "sending"
	DeliverySent      DeliveryStatus = "sent"
	DeliveryBlocked   DeliveryStatus = "blocked"
	DeliveryFailed    DeliveryStatus = "failed"
	DeliveryUnknown   DeliveryStatus = "unknown"
	DeliveryExpired   DeliveryStatus = "expired"
	DeliveryDiscarded DeliveryStatus = "discarded"
)

// DeliveryKind says what a delivery is.
type DeliveryKind string

// The delivery kinds.
const (
	KindReply    DeliveryKind = "reply"    // a run's answer
	KindNotice   DeliveryKind = "notice"   // the gateway's own word: a command's answer, an overflow, a pairing code
	KindAnnounce DeliveryKind = "announce" // what people hear of an exchange between agents
	KindCommand  DeliveryKind = "command"  // the answer to a command that a run has carried out
	KindMessage  DeliveryKind = "message"  // proactive: the message tool, POST /v1/messages, the CLI
)

// Delivery is one text on its way out.
type Delivery struct {
	ID        DeliveryID
	Seq       int64 // order in the lane, given by the store
	Lane      sessions.Lane
	Partition int
	Kind      DeliveryKind
	Route     sessions.Route
	Text      string // Markdown
	Label     flow.Label
	Session   sessions.ID    // empty if none
	Run       sessions.RunID // the run that it answers; empty if none
	// Idempotency makes a repeated request the same delivery; unique where not empty.
	Idempotency string
	// ResendOf is the unknown delivery that this one repeats.
	ResendOf DeliveryID

	Status   DeliveryStatus
	Epoch    int64
	Attempts int       // calls of the platform that failed or were lost
	NextTry  time.Time // not before
	Expires  time.Time
	Chunks   []string           // the pieces of Text, set at the first send if there is more than one
	Receipts []adapters.Receipt // one per piece that the platform has taken, in order
	// PreviewID is the platform message that showed the preview and becomes the first piece.
	PreviewID sessions.PlatformMessageID
	// LostPreview is the text of a preview of which it is not known whether it shows; it is looked up before anything is sent.
	LostPreview string
	// SentAt is stored before each call that posts something; the call was not made earlier. Zero before the first.
	SentAt time.Time
	// Buttons are shown with the last piece of the text. A press is told to the agent.
	Buttons []adapters.Button
	// Controls are buttons of the gateway's own, which only its questions have: a press is a command.
	Controls []Control
	// Asks is the question that it asks; empty for none, or once the buttons were taken off.
	Asks Question
	// Revises is the delivery whose last message it takes the place of, on a platform that can edit; empty for none.
	Revises DeliveryID
	// Files are sent after the text, each as a message of its own.
	Files     []sessions.MediaID
	Decision  *policy.Decision // of the gate; nil until asked
	LastError string           // for the operator
	Created   time.Time
	Finished  time.Time // zero until a terminal status
}

// DeliveryMove replaces a delivery's mutable fields (text, label, status, epoch,
// attempts, next try, expires, chunks, receipts, preview id, lost preview, sent at, decision, last error,
// finished, resend of, route, lane) if its stored status is From, its stored epoch is not greater than
// Delivery.Epoch, and it was not tried since it was read (its stored attempts are not more); else ErrConflict. With Delivery.Epoch above 0 the partition's
// epoch must equal it, else ErrFenced; 0 asks for no fence and sets none.
type DeliveryMove struct {
	From     DeliveryStatus
	Delivery Delivery
}

// Remembered is one line of a group's unmentioned talk.
type Remembered struct {
	Lane sessions.Lane
	Line sessions.HistoryLine
	Keep int
}

// Forget drops the history of a lane up to a time that is included.
type Forget struct {
	Lane sessions.Lane
	Upto time.Time
}

// DirectPeer says that somebody was heard in a conversation, and whose it is.
type DirectPeer struct {
	Channel, Account string
	Conversation     sessions.ConversationID
	User             sessions.UserID // of a direct chat; empty elsewhere
}

// Reworded is the new text of a message.
type Reworded struct {
	Unsaid
	Text string
}

// Unsaid names a message that was taken back.
type Unsaid struct {
	Lane    sessions.Lane
	Message sessions.PlatformMessageID
}

// Revision says which run an edited message has led to last.
type Revision struct {
	Lane    sessions.Lane
	Message sessions.PlatformMessageID
	Run     sessions.RunID
}

// BotTurns are the inputs of bots that were taken in a conversation since a person last spoke there.
type BotTurns struct {
	Place   sessions.Lane // of the conversation, without its thread
	Turns   []time.Time   // the newest, oldest first; none: a person has spoken
	Stopped bool          // bots are not heard there until a person speaks
}

// Pairing is a person's request to talk to an agent, and what became of it.
type Pairing struct {
	Channel, Account string
	User             sessions.Peer
	Conversation     sessions.ConversationID // where to tell that it was approved
	Code             string                  // empty once approved or revoked
	Status           PairingStatus
	Created, Expires time.Time
}

// PairingStatus is where a pairing stands.
type PairingStatus string

// The pairing statuses.
const (
	PairingPending  PairingStatus = "pending"
	PairingApproved PairingStatus = "approved"
	PairingRevoked  PairingStatus = "revoked"
	PairingDenied   PairingStatus = "denied" // by an owner; the person is not told, and gets no code before Expires
)

// Alias says that conversation To is known under the older id From.
type Alias struct {
	Channel, Account string
	From, To         sessions.ConversationID
}

// Unask denies the pending approvals of a run.
type Unask struct {
	Run    sessions.RunID
	Reason string
	At     time.Time
}

// Store is what the router needs of the database. A read sees every commit that
// returned before it. Errors: the sentinels of package sessions, or one that says
// what is wrong with the database and what to do.
type Store interface {
	sessions.Store

	// Commit applies the change in one durable transaction. Waiting changes share one commit.
	Commit(ctx context.Context, change Change) error

	// Event reads what became of an inbound event.
	Event(ctx context.Context, key string) (Event, error)
	// SessionByKey reads the live session of a key.
	SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error)
	// SendersBelow reads the live sessions of a conversation's threads and topics that have a send policy of their own, at most limit.
	SendersBelow(ctx context.Context, conversation sessions.Key, limit int) ([]sessions.Record, error)
	// WaitingRuns reads the runs of a session that have not ended, in order of Seq, at most limit.
	WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error)
	// LastHeard reads when the newest message of a person in a session was accepted; ErrNotFound if there is none.
	LastHeard(ctx context.Context, id sessions.ID) (time.Time, error)
	// AbortRequested reads who has asked for a run's end, if anybody.
	AbortRequested(ctx context.Context, id sessions.RunID) (sessions.AbortCause, error)
	// AbortsRequested lists the sessions of a partition with a running run that was asked to end.
	AbortsRequested(ctx context.Context, partition int) ([]sessions.ID, error)
	// Run reads a run.
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
	// Batch reads the runs that are or were worked together with a run, itself among them, in no order; none if there is no such run.
	Batch(ctx context.Context, id sessions.RunID) ([]sessions.Run, error)

	// LaneDeliveries reads the deliveries of a lane that are queued or sending, in order of Seq, at most limit.
	LaneDeliveries(ctx context.Context, lane sessions.Lane, limit int) ([]Delivery, error)
	// HeldDeliveries reads the deliveries in status held whose next try is not after now, the oldest first, at most limit.
	HeldDeliveries(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
	// DecidedQuestions reads deliveries that are done with and whose question is not open any more, the oldest first, at most limit.
	DecidedQuestions(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
	// RunDelivery reads the reply delivery of a run in status preview; ErrNotFound if there is none.
	RunDelivery(ctx context.Context, run sessions.RunID) (Delivery, error)
	// WithheldAnswer reads the delivery of a run's answer that is held, blocked or expired, or that was held and is allowed since; else ErrNotFound.
	WithheldAnswer(ctx context.Context, session sessions.ID, run sessions.RunID) (Delivery, error)
	// Delivery reads a delivery.
	Delivery(ctx context.Context, id DeliveryID) (Delivery, error)
	// DeliveryByIdempotency reads the delivery of an idempotency key.
	DeliveryByIdempotency(ctx context.Context, key string) (Delivery, error)

	// History reads a group's unmentioned talk, oldest first.
	History(ctx context.Context, lane sessions.Lane) ([]sessions.HistoryLine, error)
	// PeerOf reads whose a direct chat is, and nobody for other conversations; ErrNotFound where nobody was noted as heard.
	PeerOf(ctx context.Context, channel, account string, conversation sessions.ConversationID) (sessions.UserID, error)
	// Revision reads which run an edited message has led to last; ErrNotFound if it was never edited.
	Revision(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (Revision, error)
	// BotTurns reads what bots said in a place since a person spoke there.
	BotTurns(ctx context.Context, place sessions.Lane) (BotTurns, error)
	// CountAudit counts the entries of an action since a time, at most limit.
	CountAudit(ctx context.Context, action string, since time.Time, limit int) (int, error)
	// Posted reads the delivery that has put a message into a conversation, if it is one
	// of the last few hundred on any platform; else ErrNotFound.
	Posted(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (Delivery, error)
	// PairingOf reads a person's pairing; ErrNotFound if there is none.
	PairingOf(ctx context.Context, channel, account string, user sessions.UserID) (Pairing, error)
	// ListPairings reads the pairings of a status, newest first; an empty channel means all.
	ListPairings(ctx context.Context, channel, account string, status PairingStatus) ([]Pairing, error)
	// CanonicalConversation follows aliases to the oldest id of a conversation.
	CanonicalConversation(ctx context.Context, channel, account string, id sessions.ConversationID) (sessions.ConversationID, error)

	// Exchange reads an exchange.
	Exchange(ctx context.Context, id string) (Exchange, error)
	// ListExchanges reads exchanges, the newest first.
	ListExchanges(ctx context.Context, q ExchangeQuery) ([]Exchange, error)
	// Chain reads what the runs of a chain have used.
	Chain(ctx context.Context, id string) (ChainUse, error)
	// MediaInfo reads what a file is, without its content; ErrNotFound if it is not kept any more.
	MediaInfo(ctx context.Context, id sessions.MediaID) (Media, error)
	// Media reads a file with its content; ErrNotFound if it is not kept any more.
	Media(ctx context.Context, id sessions.MediaID) (Media, error)
	// SweepMemories ends memories that have expired, and deletes versions that ended long before now; at most limit of each. It returns how many.
	SweepMemories(ctx context.Context, now time.Time, limit int) (int, error)

	// Prune removes some rows that ended long ago and that nothing needs any more. Event keys stay.
	Prune(ctx context.Context, p Prune) (Pruned, error)

	// Approval reads an approval.
	Approval(ctx context.Context, id ApprovalID) (Approval, error)

	// TakePartition makes this replica the owner of a partition and returns the new epoch, greater than any before.
	TakePartition(ctx context.Context, partition int, owner string) (epoch int64, err error)
	// ExpiredSessions lists live sessions that are over, at most limit. A session with an unfinished run is not.
	ExpiredSessions(ctx context.Context, e Expiry, limit int) ([]sessions.ID, error)
	// WaitingLanes lists the lanes of a partition with work: session lanes with
	// queued or running runs, conversation lanes with queued or sending deliveries.
	WaitingLanes(ctx context.Context, partition int) ([]sessions.Lane, error)
}

// Query selects rows for people and programs to look at. Zero fields but MaxLevel select everything.
type Query struct {
	Status  string
	Channel string
	Session sessions.ID
	// MaxLevel: rows with a label above it, and those of sessions with a taint above it, are not there at all; invalid selects nothing.
	MaxLevel flow.Level
	// NoReplies leaves out the deliveries that are answers of runs.
	NoReplies bool
	Limit     int    // at most 200; 0 is 50
	After     string // id of the last row of the page before; empty for the first page
	Bound     *Bound // nil: rows are counted only
}

// Bound is how many bytes of its rows one look at a list reads. The row that reaches it is the last, so that there is always one.
type Bound struct {
	Bytes int
	// More is set by the look: there may be rows behind the last one, because of the bytes or of the limit.
	More bool
}

// Browser is what the operator views need of the database; newest first.
type Browser interface {
	ListSessions(ctx context.Context, q SessionQuery) ([]sessions.Record, error)
	ListRuns(ctx context.Context, q Query) ([]sessions.Run, error)
	ListDeliveries(ctx context.Context, q Query) ([]Delivery, error)
	ListAudit(ctx context.Context, q AuditQuery) ([]AuditRecord, error)
	// VerifyAudit reads the whole audit trail in bounded memory and says whether it is
	// as it was written, and whether it still has the heads that were kept elsewhere.
	VerifyAudit(ctx context.Context, kept []AuditHead) (AuditReport, error)
	// ListApprovals reads approvals, by status and session.
	ListApprovals(ctx context.Context, q Query) ([]Approval, error)
	// CountDeliveries counts the deliveries of each status that is not sent or discarded, of those that a [Query] of the level selects.
	CountDeliveries(ctx context.Context, most flow.Level) (map[DeliveryStatus]int, error)
	// Busy reports which of the sessions have a run that is queued or running.
	Busy(ctx context.Context, ids []sessions.ID) (map[sessions.ID]bool, error)
}

// SessionQuery selects live sessions, the last active first.
type SessionQuery struct {
	Agent       string
	ActiveSince time.Time
	IdleSince   time.Time  // last active before it
	MaxLevel    flow.Level // rows with a taint above it are not there at all; invalid selects nothing
	Limit       int        // at most 1000; 0 is 200
	After       sessions.ID
	Bound       *Bound // nil: rows are counted only
}
