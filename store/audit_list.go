package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// link is a row of the audit trail.
type link struct {
	Entry
	Head
}

func scanLink(row Row) (link, error) {
	var l link
	err := row.Scan(&l.Chain, &l.Seq, &l.at, &l.actor, &l.action, &l.object, &l.session, &l.level, &l.trust, &l.detail, &l.Hash)
	return l, err
}

// idHash is how much of its hash an entry's id has.
const idHash = 16

// record is a row for people and programs.
func (l link) record() ledger.AuditRecord {
	r := ledger.AuditRecord{
		ID: fmt.Sprintf("%d-%s", l.at, l.Hash[:min(idHash, len(l.Hash))]), Place: ledger.AuditHead(l.Head),
		AuditEntry: sessions.AuditEntry{
			At: fromMicros(l.at), Actor: l.actor, Action: l.action, Object: l.object, Session: sessions.ID(l.session), Label: labelFrom(l.level, l.trust),
		},
	}
	if l.detail != "" {
		r.Detail = detailOf(l.detail)
	}
	return r
}

// detailOf is a stored detail. One that is no JSON any more has been tampered with, and is shown as what it is.
func detailOf(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// ListAudit implements [ledger.Browser].
func (db *DB) ListAudit(ctx context.Context, q ledger.AuditQuery) ([]ledger.AuditRecord, error) {
	if !q.MaxLevel.Valid() {
		return nil, nil
	}
	f := filter{}
	f.addIf(q.Action != "", `action = ?`, q.Action)
	f.addIf(q.Actor != "", `actor = ?`, q.Actor)
	f.addIf(q.Session != "", `session_id = ?`, string(q.Session))
	f.addIf(!q.Since.IsZero(), `at >= ?`, micros(q.Since))
	f.within(q.MaxLevel, "audit", "session_id")
	if q.After != "" {
		f.afterAudit(q.After, q.MaxLevel)
	}
	return listed(ctx, db, q.Bound, page(q.Limit), `SELECT `+auditColumns+` FROM audit`+f.where()+` ORDER BY at DESC, chain DESC, seq DESC`, f.args,
		func(row Row) (ledger.AuditRecord, error) {
			l, err := scanLink(row)
			return l.record(), err
		})
}

// afterAudit begins behind an entry of the page before. One that is left out by the level is none.
func (f *filter) afterAudit(id string, most flow.Level) {
	text, hash, _ := strings.Cut(id, "-")
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		at = -1 // no entry has such a time
	}
	before := filter{}
	before.add(`p.at = ? AND substr(p.hash, 1, ?) = ?`, at, idHash, hash)
	before.within(most, "p", "session_id")
	f.add(`(at, chain, seq) < (SELECT p.at, p.chain, p.seq FROM audit p`+before.where()+`)`, before.args...)
}
