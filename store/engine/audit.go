package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"sluice/sessions"
)

// Entry is an audit entry as it is stored, without its position in the trail.
type Entry struct {
	At                                     int64
	Actor, Action, Object, Session, Detail string
	Level, Trust                           int
}

// Entries encodes the audit entries of a change.
func (e *Encoding) Entries(audit []sessions.AuditEntry) Trail {
	trail := make(Trail, len(audit))
	for i, a := range audit {
		level, trust := Label(a.Label)
		trail[i] = Entry{
			At: Micros(a.At), Actor: cleaned(a.Actor), Action: cleaned(a.Action), Object: cleaned(a.Object),
			Session: cleaned(string(a.Session)), Level: level, Trust: trust,
		}
		if a.Detail != nil {
			trail[i].Detail = cleaned(e.Text(a.Detail))
		}
	}
	return trail
}

// Seal computes the hash that links an entry into its chain: SHA-256 over the fields in this order, each as a
// netstring ("<bytes>:<text>,"), so that no two rows give the same input. Before the first entry the hash is empty.
func (e Entry) Seal(before string, chain int, seq int64) string {
	text := make([]byte, 0, 512)
	for _, field := range []string{
		before, strconv.Itoa(chain), strconv.FormatInt(seq, 10), strconv.FormatInt(e.At, 10), e.Actor, e.Action, e.Object, e.Session,
		strconv.Itoa(e.Level), strconv.Itoa(e.Trust), e.Detail,
	} {
		text = strconv.AppendInt(text, int64(len(field)), 10)
		text = append(text, ':')
		text = append(text, field...)
		text = append(text, ',')
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Trail has the entries that a transaction adds to the audit trail. After its writes, an engine locks the head of a chain
// until the commit, and adds the entries last, as Link does. So the trail has exactly the committed changes, and a chain
// waits for at most one commit.
type Trail []Entry

const (
	// FreeHead reads the head of a chain that no other transaction has locked. It returns no row if all are locked.
	FreeHead = `SELECT chain, seq, hash FROM audit_heads ORDER BY chain LIMIT 1/*pg FOR UPDATE SKIP LOCKED*/`

	// AuditColumns are the columns of an entry.
	AuditColumns = `chain, seq, at, actor, action, object, session_id, level, trust, detail, hash`
	addAudit     = `INSERT INTO audit (` + AuditColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	moveHead     = `UPDATE audit_heads SET seq = ?, hash = ? WHERE chain = ? AND seq = ? AND hash = ?`
)

// Head is the newest entry of a chain. In an empty chain Seq is 0 and Hash empty.
type Head struct {
	Chain int
	Seq   int64
	Hash  string
}

// Scan reads a row of FreeHead.
func (h *Head) Scan(row Row) error { return row.Scan(&h.Chain, &h.Seq, &h.Hash) }

// Link returns the statements that append the entries after a head and, last, advance the head. It also returns the
// new head.
func (t Trail) Link(h Head) (statements []Statement, next Head) {
	statements = make([]Statement, 0, len(t)+1)
	next = h
	for _, e := range t {
		next.Seq++
		next.Hash = e.Seal(next.Hash, h.Chain, next.Seq)
		statements = append(statements, Statement{SQL: addAudit, Args: []any{
			h.Chain, next.Seq, e.At, e.Actor, e.Action, e.Object, e.Session, e.Level, e.Trust, e.Detail, next.Hash,
		}})
	}
	return append(statements, Statement{SQL: moveHead, Args: []any{next.Seq, next.Hash, h.Chain, h.Seq, h.Hash}}), next
}

// BrokenTrail is the error for a trail that can't be extended. Nothing is written without its audit entry.
func BrokenTrail(err error) *Unavailable {
	return &Unavailable{
		Reason: "the audit trail can't be extended",
		Fix:    "run `sluice audit verify` to see what was changed, keep a copy of the database, and restore a backup",
		Err:    fmt.Errorf("add to audit trail: %w", err),
	}
}

// ErrNoHead means that the table of heads is empty.
var ErrNoHead = errors.New("it has no chain: somebody has emptied audit_heads")
