package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// AuditQuery selects audit entries, newest first. Zero fields select everything.
type AuditQuery struct {
	ID       string // of one record
	Action   string
	Actor    string
	Session  sessions.ID
	Object   string
	Since    time.Time
	Until    time.Time
	Level    flow.Level // of the label; invalid: any
	MaxLevel flow.Level // entries with a label above it are left out; invalid selects nothing
	Limit    int        // at most 200; 0 is 50
	After    string     // ID of the last record of the previous page; empty for the first page
	Bound    *Bound     // nil: only rows are counted
}

// AuditRecord is an entry with its place in the trail.
type AuditRecord struct {
	sessions.AuditEntry
	// ID is for AuditQuery.After. Unlike the place, it reveals nothing about other entries.
	ID    string
	Place AuditHead
}

// AuditHead is a place in the audit trail: an entry, its chain, and its hash, which covers all entries of the chain
// up to this one.
type AuditHead struct {
	Chain int
	Seq   int64 // 1, 2, 3 … in the chain; 0 for a chain with no entry
	Hash  string
}

// String is "<chain>:<seq>:<hash>".
func (h AuditHead) String() string { return fmt.Sprintf("%d:%d:%s", h.Chain, h.Seq, h.Hash) }

// auditHashLength is the length of a hash in hexadecimal digits.
const auditHashLength = 64

// ParseAuditHead reads the result of String, for a head with at least one entry.
func ParseAuditHead(text string) (AuditHead, error) {
	parts := strings.Split(text, ":")
	wrong := fmt.Errorf("head %q: want CHAIN:SEQ:HASH, as audit verify prints it", text)
	if len(parts) != 3 || len(parts[2]) != auditHashLength || strings.Trim(parts[2], "0123456789abcdef") != "" {
		return AuditHead{}, wrong
	}
	chain, chainErr := strconv.Atoi(parts[0])
	seq, seqErr := strconv.ParseInt(parts[1], 10, 64)
	if chainErr != nil || seqErr != nil || chain < 0 || seq < 1 {
		return AuditHead{}, wrong
	}
	return AuditHead{Chain: chain, Seq: seq, Hash: parts[2]}, nil
}

// AuditReport is the result of checking every entry. It counts entries of every level, so it is only for readers who
// may see all.
type AuditReport struct {
	Entries int64
	// Heads are the heads of the chains that have entries, for keeping them elsewhere.
	Heads  []AuditHead
	Faults []AuditFault // the first fault of each chain, and the kept heads that do not match; empty: the trail is intact
}

// AuditFault is an entry that was changed, moved or removed.
type AuditFault struct {
	Chain int
	Seq   int64
	Kind  AuditFaultKind
	Text  string // a sentence for the operator
}

// AuditFaultKind says what is wrong with an entry.
type AuditFaultKind string

// The kinds of faults.
const (
	AuditChanged AuditFaultKind = "changed" // its content or its hash was changed
	AuditMissing AuditFaultKind = "missing"
	AuditOrder   AuditFaultKind = "order" // it was moved or added
	AuditHeadBad AuditFaultKind = "head"  // the head, or a kept head, does not match the entries
)
