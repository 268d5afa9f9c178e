package trail

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

// link is a row of the audit trail.
type link struct {
	engine.Entry
	engine.Head
}

func scanLink(row engine.Row) (link, error) {
	var l link
	err := row.Scan(&l.Chain, &l.Seq, &l.At, &l.Actor, &l.Action, &l.Object, &l.Session, &l.Level, &l.Trust, &l.Detail, &l.Hash)
	return l, err
}

// idHash is how many characters of its hash an entry's id has.
const idHash = 16

// record converts a row for people and programs.
func (l link) record() ledger.AuditRecord {
	r := ledger.AuditRecord{
		ID: fmt.Sprintf("%d-%s", l.At, l.Hash[:min(idHash, len(l.Hash))]), Place: ledger.AuditHead(l.Head),
		AuditEntry: sessions.AuditEntry{
			At: engine.FromMicros(l.At), Actor: l.Actor, Action: l.Action, Object: l.Object, Session: sessions.ID(l.Session), Label: engine.LabelFrom(l.Level, l.Trust),
		},
	}
	if l.Detail != "" {
		r.Detail = detailOf(l.Detail)
	}
	return r
}

// detailOf decodes a stored detail. If it is not JSON, it was tampered with and is shown as it is.
func detailOf(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// Table has the reads of the audit trail.
type Table struct{ *engine.Conn }

// CountAudit implements [ledger.Store].
func (t Table) CountAudit(ctx context.Context, action string, since time.Time, limit int) (int, error) {
	var n int
	err := t.One(ctx, `SELECT count(*) FROM (SELECT at FROM audit WHERE action = ? AND at >= ? LIMIT ?) newest`,
		[]any{action, engine.Micros(since), limit}, &n)
	return n, err
}

// ListAudit implements [ledger.Browser].
func (t Table) ListAudit(ctx context.Context, q ledger.AuditQuery) ([]ledger.AuditRecord, error) {
	if !q.MaxLevel.Valid() {
		return nil, nil
	}
	f := engine.Filter{}
	f.AddIf(q.Action != "", `action = ?`, q.Action)
	f.AddIf(q.Actor != "", `actor = ?`, q.Actor)
	f.AddIf(q.Session != "", `session_id = ?`, string(q.Session))
	f.AddIf(q.Object != "", `object = ?`, q.Object)
	f.AddIf(!q.Since.IsZero(), `at >= ?`, engine.Micros(q.Since))
	f.AddIf(!q.Until.IsZero(), `at < ?`, engine.Micros(q.Until))
	f.AddIf(q.Level.Valid(), `level = ?`, q.Level.Rank())
	f.Within(q.MaxLevel, "audit", "session_id")
	if q.ID != "" {
		at, hash := parsedID(q.ID)
		f.Add(`at = ? AND substr(hash, 1, ?) = ?`, at, idHash, hash)
	}
	if q.After != "" {
		afterAudit(&f, q.After, q.MaxLevel)
	}
	return engine.Listed(ctx, t.Conn, q.Bound, engine.Page(q.Limit), `SELECT `+engine.AuditColumns+` FROM audit`+f.Where()+` ORDER BY at DESC, chain DESC, seq DESC`, f.Args,
		func(row engine.Row) (ledger.AuditRecord, error) {
			l, err := scanLink(row)
			return l.record(), err
		})
}

// parsedID is the time and the beginning of the hash of an entry.
func parsedID(id string) (at int64, hash string) {
	text, hash, _ := strings.Cut(id, "-")
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		at = -1 // no entry has such a time
	}
	return at, hash
}

// afterAudit starts after an entry of the previous page. An entry above the level is treated as unknown.
func afterAudit(f *engine.Filter, id string, most flow.Level) {
	at, hash := parsedID(id)
	before := engine.Filter{}
	before.Add(`p.at = ? AND substr(p.hash, 1, ?) = ?`, at, idHash, hash)
	before.Within(most, "p", "session_id")
	f.Add(`(at, chain, seq) < (SELECT p.at, p.chain, p.seq FROM audit p`+before.Where()+`)`, before.Args...)
}
