package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// AuditQuery selects entries of the audit trail, the newest first. Zero fields select everything.
type AuditQuery struct {
	Action   string
	Actor    string
	Session  sessions.ID
	Since    time.Time
	MaxLevel flow.Level // entries with a label above it are not there at all; invalid selects nothing
	Limit    int        // at most 200; 0 is 50
	After    string     // ID of the last record of the page before; empty for the first page
	Bound    *Bound     // nil: rows are counted only
}

// AuditRecord is an entry with its place in the trail.
type AuditRecord struct {
	sessions.AuditEntry
	// ID is for After. It tells nothing of other entries, as the place does.
	ID    string
	Place AuditHead
}

// AuditHead is a place in the audit trail: an entry, its chain, and its hash,
// which stands for all entries of the chain up to this one.
type AuditHead struct {
	Chain int
	Seq   int64 // 1, 2, 3 … in the chain; 0 for a chain with no entry
	Hash  string
}

// String is "<chain>:<seq>:<hash>".
func (h AuditHead) String() string { return fmt.Sprintf("%d:%d:%s", h.Chain, h.Seq, h.Hash) }

// auditHashLength is the length of a hash in hexadecimal digits.
const auditHashLength = 64

// ParseAuditHead reads what String has made of a head with at least one entry.
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

// AuditReport is what a look at every entry has shown. It counts entries of every
// level, so it is for those alone who may see all.
type AuditReport struct {
	Entries int64
	// Heads are those of the chains that have entries, for keeping them elsewhere.
	Heads  []AuditHead
	Faults []AuditFault // the first of each chain, and the kept heads that do not fit; empty: the trail is whole
}

// AuditFault is an entry that is not as it was written.
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
	AuditChanged AuditFaultKind = "changed" // its content or its hash
	AuditMissing AuditFaultKind = "missing"
	AuditOrder   AuditFaultKind = "order" // it stands elsewhere, or where none should be
	AuditHeadBad AuditFaultKind = "head"  // the head does not fit the entries, or a kept one does not
)
