// Package audit has the entries of the audit trail, and the trail of one tool call.
package audit

import (
	"sync"
	"time"

	"sluice/policy/flow"

	"sluice/sessions/address"
)

// Entry is one line of the audit trail.
type Entry struct {
	At      time.Time
	Actor   string // principal "<channel>:<user>", "agent:<id>", "operator", "token:<name>" for the bearer of a named token, "unknown" or "gateway"
	Action  string // for example "delivery.block", "command.denied", "pairing.approve"
	Object  string // id of what it is about
	Session address.ID
	Label   flow.Label
	Detail  any // JSON-encoded; no secrets
}

// Trail collects what the operator is to know of a call that its caller was not told. It is safe for concurrent use; a nil one forgets.
type Trail struct {
	mu      sync.Mutex
	entries []Entry
}

// Add notes an entry.
func (t *Trail) Add(e Entry) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = append(t.entries, e)
}

// Take gives what was noted and forgets it.
func (t *Trail) Take() []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.entries
	t.entries = nil
	return taken
}
