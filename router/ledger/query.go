package ledger

import (
	"context"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// MaxPage is the maximum number of rows of most queries.
const MaxPage = 200

// Query selects rows for operators and programs. Zero fields but MaxLevel select everything.
type Query struct {
	Status  string
	Channel string
	Session sessions.ID
	// Exchange selects the runs that are steps of an exchange.
	Exchange string
	// MaxLevel: rows with a label above it, and those of sessions with a taint above it, are left out; invalid
	// selects nothing.
	MaxLevel flow.Level
	QueryFilter
	// Since and Until bound the time at which a run was accepted or a delivery made; zero: no bound.
	Since time.Time
	Until time.Time
	// Unexpired leaves out the approvals that have expired by then.
	Unexpired time.Time
	// NoReplies leaves out the answers of runs.
	NoReplies bool
	Limit     int    // at most 200; 0 is 50
	After     string // id of the last row of the previous page; empty for the first page
	Bound     *Bound // nil: only rows are counted
}

// QueryFilter are the filters of a [Query] that search: a page can have fewer rows than wanted although more follow.
type QueryFilter struct {
	Kind    string         // of a run or delivery; of an approval [AskCall] or [AskMessage]
	Text    string         // part of the text: of a run its input, of a delivery what it says
	Model   string         // of a run
	Agent   string         // of a run's session
	Slow    time.Duration  // from accepting a run to its end, at least
	Run     sessions.RunID // of a delivery
	Account string         // of a delivery
	To      string         // conversation of a delivery
	Rule    string         // that has matched a delivery
}

// Spoken is what somebody has said in a session.
type Spoken struct {
	Who     sessions.Peer
	Session sessions.ID
	Route   sessions.Route
	Count   int
	Last    time.Time
}

// Bound is how many bytes of rows one query reads. The row that reaches the bound is the last, so there is always at
// least one.
type Bound struct {
	Bytes int
	// More is set by the query: there may be further rows, because of the bytes or of the limit.
	More bool
	// Next is set by a search: the next page starts after the row with this id; empty: after the last row.
	Next string
}

// Browser is the database as the operator views need it; newest first.
type Browser interface {
	ListSessions(ctx context.Context, q SessionQuery) ([]sessions.Record, error)
	ListRuns(ctx context.Context, q Query) ([]sessions.Run, error)
	ListDeliveries(ctx context.Context, q Query) ([]Delivery, error)
	ListAudit(ctx context.Context, q AuditQuery) ([]AuditRecord, error)
	// VerifyAudit reads the whole audit trail in bounded memory, and checks that it is intact and still contains the
	// heads that were kept elsewhere.
	VerifyAudit(ctx context.Context, kept []AuditHead) (AuditReport, error)
	// ListApprovals reads approvals: the pending ones soonest to expire first, all others newest first.
	ListApprovals(ctx context.Context, q Query) ([]Approval, error)
	// CountDeliveries counts the deliveries per status that are neither sent nor discarded, among those that a
	// [Query] of the level selects.
	CountDeliveries(ctx context.Context, most flow.Level) (map[DeliveryStatus]int, error)
	// CountRunsOf, CountDeliveriesOf and CountApprovalsOf count the rows that the list with the same query has, at most limit.
	CountRunsOf(ctx context.Context, q Query, limit int) (int, error)
	CountDeliveriesOf(ctx context.Context, q Query, limit int) (int, error)
	CountApprovalsOf(ctx context.Context, q Query, limit int) (int, error)
	// Busy reports which of the sessions have a run that is queued or running.
	Busy(ctx context.Context, ids []sessions.ID) (map[sessions.ID]bool, error)
}

// SessionQuery selects live sessions, the last active first.
type SessionQuery struct {
	Agent       string
	ActiveSince time.Time
	IdleSince   time.Time          // last active before it
	Channel     string             // of the last message
	Kind        string             // main, direct, group, channel, cron, hook, node, subagent or api
	Kinds       []sessions.KeyKind // one of these; empty: any
	Level       flow.Level         // what it has learnt is exactly of this level; invalid: any
	Parent      sessions.ID
	Busy        bool       // it has a run that is queued or running
	Text        string     // part of its title, label or key
	Archived    bool       // only archived ones
	MaxLevel    flow.Level // rows with a taint above it are left out; invalid selects nothing
	Limit       int        // at most 1000; 0 is 200
	After       sessions.ID
	Bound       *Bound // nil: only rows are counted
}
