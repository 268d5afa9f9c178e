package sessions

import (
	"time"

	"sluice/policy/flow"
)

// AuditEntry is one line of the audit trail.
type AuditEntry struct {
	At      time.Time
	Actor   string // principal "<channel>:<user>", "agent:<id>", "operator", "token:<name>" for the bearer of a named token, "unknown" or "gateway"
	Action  string // for example "delivery.block", "command.denied", "pairing.approve"
	Object  string // id of what it is about
	Session ID
	Label   flow.Label
	Detail  any // JSON-encoded; no secrets
}
