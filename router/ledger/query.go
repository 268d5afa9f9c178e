package ledger

import (
	"context"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// MaxPage is how many rows most queries give at most.
const MaxPage = 200

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
