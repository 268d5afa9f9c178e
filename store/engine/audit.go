package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"sluice/sessions"
)

// Entry is an audit entry as it is stored, but for its place in the trail.
type Entry struct {
	At                                     int64
	Actor, Action, Object, Session, Detail string
	Level, Trust                           int
}

// Entries are the audit entries of a change, as they will be stored.
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

// Seal is the hash that makes an entry a link of its chain: SHA-256 of the fields
// in this order, each as a netstring ("<bytes>:<text>,"), so that no two rows have
// the same text. The hash before the first is empty.
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

// Trail is what a transaction adds to the audit trail. An engine reads after its
// writes the head of a chain that it alone has till it commits, with FreeHead or
// else AnyHead, and runs what Link gives as the last before the commit. So the
// trail tells exactly of what was committed, and a chain is held up by one commit at most.
type Trail []Entry

const (
	// FreeHead reads the head of a chain that no other transaction holds. No row: all are held.
	FreeHead = `SELECT chain, seq, hash FROM audit_heads ORDER BY chain LIMIT 1/*pg FOR UPDATE SKIP LOCKED*/`
	// AnyHead waits for one of the chains.
	AnyHead = `SELECT chain, seq, hash FROM audit_heads ORDER BY random() LIMIT 1/*pg FOR UPDATE*/`

	// AuditColumns are the columns of an entry.
	AuditColumns = `chain, seq, at, actor, action, object, session_id, level, trust, detail, hash`
	addAudit     = `INSERT INTO audit (` + AuditColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	moveHead     = `UPDATE audit_heads SET seq = ?, hash = ? WHERE chain = ? AND seq = ? AND hash = ?`
)

// Head is the newest entry of a chain; of an empty chain Seq is 0 and Hash empty.
type Head struct {
	Chain int
	Seq   int64
	Hash  string
}

// Scan reads a row of FreeHead or AnyHead.
func (h *Head) Scan(row Row) error { return row.Scan(&h.Chain, &h.Seq, &h.Hash) }

// Link is what adds the entries behind a head and, as the last statement, moves the head on; and the head after that.
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

// BrokenTrail is the error for a trail that can't be added to. Nothing is done that it does not tell of.
func BrokenTrail(err error) *Unavailable {
	return &Unavailable{
		Reason: "the audit trail can't be extended",
		Fix:    "run `sluice audit verify` to see what was changed, keep a copy of the database, and restore a backup",
		Err:    fmt.Errorf("add to audit trail: %w", err),
	}
}

// ErrNoHead says that the table of heads is empty.
var ErrNoHead = errors.New("it has no chain: somebody has emptied audit_heads")
