package ledger

import (
	"time"

	"sluice/policy/flow"
)

// Node is a program or device that dials in, or that asks to be paired.
type Node struct {
	ID       string // never used again
	Revision int64  // 1 when it is inserted; each change adds 1
	Status   NodeStatus
	Code     string     // that an owner approves; empty once that is decided
	Token    string     // SHA-256 of its token, in hexadecimal
	Label    flow.Label // of what it sends; its level is also the highest of what it gets
	NodeDetail
	Created time.Time
	Expires time.Time // of a pending one
	Changed time.Time // the last change of the status
}

// NodeDetail is what no query selects by.
type NodeDetail struct {
	Name     string `json:"name"`
	Platform string `json:"platform,omitempty"`
	Actor    string `json:"actor,omitempty"` // who decided about it last
}

// NodeStatus is the state of a node.
type NodeStatus string

// The statuses of nodes.
const (
	NodePending  NodeStatus = "pending"
	NodeApproved NodeStatus = "approved"
	NodeRevoked  NodeStatus = "revoked"
)

// NodeQuery selects nodes, the oldest first.
type NodeQuery struct {
	Status   NodeStatus // empty: any
	MaxLevel flow.Level
	Limit    int
}
