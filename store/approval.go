package store

import (
	"context"
	"encoding/json"

	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	approvalColumns = `id, session_id, run_id, agent, call_id, tool, args, level, trust, status, reason, decided_by, created, expires, decided, why, terms, delivery_id, reason_said`
	insertApproval  = `INSERT INTO approvals (` + approvalColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	moveApproval    = `UPDATE approvals SET status = ?, reason = ?, reason_said = ?, decided_by = ?, decided = ? WHERE id = ? AND status = ?`
	unaskRun        = `UPDATE approvals SET status = 'denied', reason = ?, reason_said = 'PUBLIC/trusted', decided_by = 'gateway', decided = ? WHERE run_id = ? AND status = 'pending'`
)

// approvals are the parts of a change about tool calls that people decide about.
func (b *writer) approvals(c ledger.Change) {
	for _, p := range c.Ask {
		level, trust := label(p.Label)
		b.add(Statement{SQL: insertApproval, Duplicate: sessions.ErrDuplicate, Args: []any{
			string(p.ID), string(p.Session), string(p.Run), p.Agent, p.CallID, p.Tool, string(p.Args), level, trust,
			string(p.Status), p.Reason.Raw(), p.By, micros(p.Created), micros(p.Expires), micros(p.Decided), p.Why, b.text(p.Terms), string(p.Delivery), saidAs(p.Reason),
		}})
	}
	for _, m := range c.Approvals {
		p := m.Approval
		b.add(Statement{SQL: moveApproval, Else: sessions.ErrConflict, Args: []any{
			string(p.Status), p.Reason.Raw(), saidAs(p.Reason), p.By, micros(p.Decided), string(p.ID), string(m.From),
		}})
	}
	for _, u := range c.Unask {
		b.add(Statement{SQL: unaskRun, Args: []any{u.Reason, micros(u.At), string(u.Run)}})
	}
}

func scanApproval(row Row) (ledger.Approval, error) {
	var p ledger.Approval
	var id, session, run, args, status, terms, delivery string
	var reason said
	var level, trust int
	var created, expires, decided int64
	err := row.Scan(&id, &session, &run, &p.Agent, &p.CallID, &p.Tool, &args, &level, &trust, &status, &reason.text, &p.By, &created, &expires, &decided,
		&p.Why, &terms, &delivery, &reason.label)
	p.ID, p.Session, p.Run, p.Status = ledger.ApprovalID(id), sessions.ID(session), sessions.RunID(run), ledger.ApprovalStatus(status)
	p.Label, p.Created, p.Expires, p.Decided = labelFrom(level, trust), fromMicros(created), fromMicros(expires), fromMicros(decided)
	p.Reason = reason.labelled(p.Label)
	p.Delivery = ledger.DeliveryID(delivery)
	if args != "" {
		p.Args = json.RawMessage(args)
	}
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal([]byte(terms), &p.Terms)
}

// Approval implements [ledger.Store].
func (db *DB) Approval(ctx context.Context, id ledger.ApprovalID) (ledger.Approval, error) {
	return single(ctx, db, `SELECT `+approvalColumns+` FROM approvals WHERE id = ?`, []any{string(id)}, scanApproval)
}

// ListApprovals implements [ledger.Browser].
func (db *DB) ListApprovals(ctx context.Context, q ledger.Query) ([]ledger.Approval, error) {
	f := filter{}
	f.within(q.MaxLevel, "approvals", "session_id")
	f.addIf(q.Status != "", `status = ?`, q.Status)
	f.addIf(q.Session != "", `session_id = ?`, string(q.Session))
	f.afterPlace(q.After, q.MaxLevel, "approvals", "created", "session_id")
	return listed(ctx, db, q.Bound, page(q.Limit), `SELECT `+approvalColumns+` FROM approvals`+f.where()+` ORDER BY created DESC, id DESC`, f.args, scanApproval)
}
