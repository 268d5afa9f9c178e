package ledger

import (
	"context"
	"time"

	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Change is one transaction of the router: a sessions change and everything that belongs to it.
type Change struct {
	sessions.Change
	AlertChange
	AccessChange
	// Event is the inbound event that caused the change. A known key is ErrDuplicate and changes nothing.
	Event *Event
	// Media inserts files. A known id is ErrDuplicate.
	Media []Media
	// Deliver inserts deliveries; the store gives them their Seq. A known id or idempotency key is ErrDuplicate.
	Deliver []Delivery
	// Begin inserts deliveries in status sending: their lane's worker sends them once the change is stored. A delivery in
	// Begin must be the first of its lane that is queued or sending, and the epoch of its partition must be its Epoch;
	// else ErrConflict.
	Begin []Delivery
	// Deliveries moves deliveries from one status to another.
	Deliveries []DeliveryMove
	// AppendHistory appends group messages that were not for the agent; only the newest Keep lines of a lane stay.
	AppendHistory []HistoryAppend
	// TrimHistory drops the history lines of a lane that a run has taken over.
	TrimHistory []HistoryTrim
	// Peers stores in which conversations people have spoken, and of direct chats, which may have their own ids, who.
	Peers []DirectPeer
	// EditHistory replaces the text of an edited message's history line, if there still is one.
	EditHistory []HistoryEdit
	// DeleteHistory drops the history lines of deleted messages.
	DeleteHistory []HistoryMessage
	// Revised stores the newest run of an edited message.
	Revised *Revision
	// Bots replaces the count of bot messages in a place since a person last spoke there.
	Bots *BotTurns
	// Requests inserts pairing requests of people without one, or whose pending or denied request had expired when
	// the new one was made; else ErrConflict.
	Requests []Pairing
	// Pairings inserts or replaces pairing requests by (channel, account, user).
	Pairings []Pairing
	// Aliases stores that a conversation has a new id.
	Aliases []Alias
	// Exchanges inserts those of revision 1 (a known id is ErrDuplicate) and replaces
	// others whose stored revision is one less, else ErrConflict.
	Exchanges []Exchange
	// Chains adds to what chains have used.
	Chains []ChainUse
	// Triggers inserts those of revision 1 (a known key is ErrDuplicate, unless it was withdrawn) and replaces others whose stored revision is one
	// less, else ErrConflict. With an Epoch above 0 the partition's epoch must equal it when one is replaced, else ErrFenced.
	Triggers []Trigger
	// Jobs inserts those of revision 1 and replaces or removes others whose stored revision is one less, else ErrConflict.
	Jobs []Job
	// HookRequests inserts requests to hooks. A known key, or content that the hook has received before, is ErrDuplicate.
	HookRequests []HookRequest
	// Checks inserts those of revision 1 (a known name is ErrDuplicate) and replaces others whose stored revision is one less,
	// else ErrConflict.
	Checks []Check
	// Nodes inserts those of revision 1 (a known id or token is ErrDuplicate) and replaces others whose stored revision is one
	// less, else ErrConflict.
	Nodes []Node
	// Raises adds to what budgets allow in one of their periods.
	Raises []spending.Raise
	// Ask inserts approvals. A known id is ErrDuplicate.
	Ask []Approval
	// Approvals moves approvals from one status to another.
	Approvals []ApprovalMove
	// AllowRules inserts rules that always allow calls. A known id is ErrDuplicate.
	AllowRules []AllowRule
	// EndAllowRules removes such rules by their ids; ErrNotFound if one is missing.
	EndAllowRules []string
	// Retire notes that the buttons of questions were removed, or can't be; ErrConflict if that was noted before.
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

// Store is the database as the router's stages share it, divided into roles. A stage takes the roles that it needs,
// or declares its own port. A read sees every commit that returned before it. Errors: the sentinels of package
// sessions, or one that says what is wrong with the database and what to do.
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
	Triggers
	Hooks
	Alerts
	AlertGroups
	Checks
	Jobs
	Nodes
	Files
	Partitions
	Maintenance
}

// NewStore makes a Store of a value that has all roles. The list stands here again for the compiler: it refuses a value that
// lacks one. An interface of all of them would be the one big port that the roles replace.
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
	Triggers
	Hooks
	Alerts
	AlertGroups
	Checks
	Jobs
	Nodes
	Files
	Partitions
	Maintenance
}](s S) *Store {
	return &Store{s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s}
}

// The roles of a store.
type (
	// Committer stores changes.
	Committer interface {
		// Commit applies the change in one durable transaction. Waiting changes share one commit.
		Commit(ctx context.Context, change Change) error
	}
	// Intake reads received events.
	Intake interface {
		// Event reads the result of an inbound event.
		Event(ctx context.Context, key string) (Event, error)
		// History reads the messages of a group that were not for the agent, oldest first.
		History(ctx context.Context, lane sessions.Lane) ([]sessions.HistoryLine, error)
		// Revision reads the newest run of an edited message; ErrNotFound if it was never edited.
		Revision(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (Revision, error)
		// BotTurns reads the count of bot messages in a place since a person spoke there.
		BotTurns(ctx context.Context, place sessions.Lane) (BotTurns, error)
		// Posted reads the delivery that posted a message in a conversation, if it is one of the last few hundred on
		// any platform; else ErrNotFound.
		Posted(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (Delivery, error)
		// CountAudit counts the entries of an action since a time, at most limit.
		CountAudit(ctx context.Context, action string, since time.Time, limit int) (int, error)
	}
	// People reads who writes, and where.
	People interface {
		// PeerOf reads the person of a direct chat; empty for other conversations; ErrNotFound if nobody has spoken
		// there yet.
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
		// ArchivedSession reads the archived session of a key, or returns ErrNotFound.
		ArchivedSession(ctx context.Context, key sessions.Key) (sessions.Record, error)
		// SendersBelow reads the live sessions of a conversation's threads and topics that have their own send
		// policy, at most limit.
		SendersBelow(ctx context.Context, conversation sessions.Key, limit int) ([]sessions.Record, error)
		// ExpiredSessions lists expired live sessions, at most limit. One that works is expired only by its TTL.
		ExpiredSessions(ctx context.Context, e Expiry, limit int) ([]sessions.ID, error)
	}
	// Runs reads runs.
	Runs interface {
		// WaitingRuns reads the runs of a session that have not ended, in order of Seq, at most limit.
		WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error)
		// LastHeard reads when the newest message of a person in a session was accepted, or returns ErrNotFound.
		LastHeard(ctx context.Context, id sessions.ID) (time.Time, error)
		// AbortRequested reads the abort request for a run, if any.
		AbortRequested(ctx context.Context, id sessions.RunID) (sessions.AbortCause, error)
		// AbortsRequested lists the sessions of a partition whose running run was asked to stop.
		AbortsRequested(ctx context.Context, partition int) ([]sessions.ID, error)
		// Run reads a run.
		Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
		// Batch reads the runs that are or were worked together with a run, including that run, in no order; empty if
		// the run is unknown.
		Batch(ctx context.Context, id sessions.RunID) ([]sessions.Run, error)
	}
	// Deliveries reads deliveries.
	Deliveries interface {
		// LaneDeliveries reads the deliveries of a lane that are queued or sending, in order of Seq, at most limit.
		LaneDeliveries(ctx context.Context, lane sessions.Lane, limit int) ([]Delivery, error)
		// HeldDeliveries reads the deliveries in status held whose next try is due, oldest first, at most limit.
		HeldDeliveries(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
		// DecidedQuestions reads ended deliveries whose question is no longer open, oldest first, at most limit.
		DecidedQuestions(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
		// RunDelivery reads the reply delivery of a run in status preview, or returns ErrNotFound.
		RunDelivery(ctx context.Context, run sessions.RunID) (Delivery, error)
		// WithheldAnswer reads the delivery of a run's answer that is held, blocked or expired, or that was held and
		// then allowed; else ErrNotFound.
		WithheldAnswer(ctx context.Context, session sessions.ID, run sessions.RunID) (Delivery, error)
		// Delivery reads a delivery.
		Delivery(ctx context.Context, id DeliveryID) (Delivery, error)
		// DeliveryByIdempotency reads the delivery of an idempotency key.
		DeliveryByIdempotency(ctx context.Context, key string) (Delivery, error)
	}
	// Approvals reads pending and past approvals.
	Approvals interface {
		// Approval reads an approval.
		Approval(ctx context.Context, id ApprovalID) (Approval, error)
		// AllowRulesOf reads the rules that always allow calls of a tool by an agent, the oldest first.
		AllowRulesOf(ctx context.Context, agent, tool string) ([]AllowRule, error)
		// ListAllowRules reads all of these rules, the newest first.
		ListAllowRules(ctx context.Context) ([]AllowRule, error)
	}
	// Exchanges reads exchanges between agents.
	Exchanges interface {
		// Exchange reads an exchange.
		Exchange(ctx context.Context, id string) (Exchange, error)
		// ExchangeByKey reads the exchange of a request's key. Retention may have removed its texts.
		ExchangeByKey(ctx context.Context, key string) (Exchange, error)
		// ListExchanges reads exchanges, the newest first.
		ListExchanges(ctx context.Context, q ExchangeQuery) ([]Exchange, error)
		// Chain reads what the runs of a chain have used.
		Chain(ctx context.Context, id string) (ChainUse, error)
	}
	// Triggers reads what happens without a message.
	Triggers interface {
		// OpenTriggers reads the open triggers of a partition in the order in which they are due, at most limit.
		OpenTriggers(ctx context.Context, partition, limit int) ([]Trigger, error)
		// EndedTriggers reads the triggers of a subject that have ended, newest first.
		EndedTriggers(ctx context.Context, q EndedTriggers) ([]Trigger, error)
		// ListTriggers reads the triggers of a subject, newest first.
		ListTriggers(ctx context.Context, q TriggerQuery) ([]Trigger, error)
		// OpenTriggersOf reads the open triggers of at most 200 subjects, in any order.
		OpenTriggersOf(ctx context.Context, source TriggerSource, subjects []string) ([]Trigger, error)
		// TriggersOf reads the triggers with the given keys, at most 200, in any order. Unknown ones are left out.
		TriggersOf(ctx context.Context, keys []string) ([]Trigger, error)
	}
	// Jobs reads the rows of jobs.
	Jobs interface {
		// Job reads a row.
		Job(ctx context.Context, origin JobOrigin, id string) (Job, error)
		// JobsIn reads the rows of a partition.
		JobsIn(ctx context.Context, partition int) ([]Job, error)
		// ListJobs reads a page of rows, by id.
		ListJobs(ctx context.Context, q JobQuery) ([]Job, error)
		// CountJobs counts the jobs made at run time whose label is not above a level, and those of a session among them.
		CountJobs(ctx context.Context, session sessions.ID, since time.Time, upTo flow.Level) (JobCount, error)
	}
	// Hooks reads requests to hooks.
	Hooks interface {
		// HookRequest reads a request with its payload.
		HookRequest(ctx context.Context, key string) (HookRequest, error)
		// HookRequestOnce reads the request of a hook with the given signed content, without its payload.
		HookRequestOnce(ctx context.Context, hook, once string) (HookRequest, error)
		// ListHookRequests reads the requests of a hook without their payloads, newest first.
		ListHookRequests(ctx context.Context, q HookQuery) ([]HookRequest, error)
	}
	// Checks reads what checks found.
	Checks interface {
		// Check reads what a check found last, or returns ErrNotFound.
		Check(ctx context.Context, name string) (Check, error)
	}
	// Nodes reads nodes.
	Nodes interface {
		// Node reads a node, or returns ErrNotFound.
		Node(ctx context.Context, id string) (Node, error)
		// NodeByToken reads the node whose token has a hash, or returns ErrNotFound.
		NodeByToken(ctx context.Context, hash string) (Node, error)
		// ListNodes reads nodes, the oldest first.
		ListNodes(ctx context.Context, q NodeQuery) ([]Node, error)
	}
	// Files reads files of messages.
	Files interface {
		// MediaInfo reads a file's row without its content; ErrNotFound if retention has removed it.
		MediaInfo(ctx context.Context, id sessions.MediaID) (Media, error)
		// Media reads a file with its content; ErrNotFound if retention has removed it.
		Media(ctx context.Context, id sessions.MediaID) (Media, error)
		// MediaHeld sums the bytes of a session's files and adds each bytes per file. An empty id selects the files
		// without a session.
		MediaHeld(ctx context.Context, id sessions.ID, each int64) (int64, error)
	}
	// Partitions assigns work to this replica.
	Partitions interface {
		// PartitionEpoch reads the epoch of a partition's last owner; 0 if it never had one.
		PartitionEpoch(ctx context.Context, partition int) (int64, error)
		// TakePartition makes this replica the owner of a partition whose epoch is still the given one, and returns the
		// new epoch, which is greater; else ErrConflict.
		TakePartition(ctx context.Context, partition int, owner string, epoch int64) (int64, error)
		// WaitingLanes lists the lanes of a partition with work: session lanes with
		// queued or running runs, conversation lanes with queued or sending deliveries, DueLane if a
		// trigger is open, and AlertLane if a group of alerts is.
		WaitingLanes(ctx context.Context, partition int) ([]sessions.Lane, error)
	}
	// Maintenance removes old rows.
	Maintenance interface {
		// SweepMemories ends expired memories, and deletes versions that ended before a time; at most limit of
		// each. It returns the total.
		SweepMemories(ctx context.Context, now, before time.Time, limit int) (int, error)
		// Prune removes some rows that ended long ago and that nothing needs. Event keys stay.
		Prune(ctx context.Context, p Prune) (Pruned, error)
	}
)
