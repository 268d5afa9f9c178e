package store

import (
	"context"
	"encoding/json"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
	"sluice/store/views"
)

const (
	approvalColumns  = `id, session_id, run_id, agent, call_id, tool, args, level, trust, status, reason, decided_by, created, expires, decided, why, terms, delivery_id, reason_said, channel`
	insertApproval   = `INSERT INTO approvals (` + approvalColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	moveApproval     = `UPDATE approvals SET status = ?, reason = ?, reason_said = ?, decided_by = ?, decided = ? WHERE id = ? AND status = ?`
	denyPendingOfRun = `UPDATE approvals SET status = 'denied', reason = ?, reason_said = 'PUBLIC/trusted', decided_by = 'gateway', decided = ? WHERE run_id = ? AND status = 'pending'`
)

// approvals adds the statements for approvals of tool calls.
func (b *writer) approvals(c ledger.Change) {
	for _, p := range c.Ask {
		level, trust := engine.Label(p.Label)
		b.add(engine.Statement{SQL: insertApproval, Duplicate: sessions.ErrDuplicate, Args: []any{
			string(p.ID), string(p.Session), string(p.Run), p.Agent, p.CallID, p.Tool, string(p.Args), level, trust,
			string(p.Status), p.Reason.Raw(), p.By, engine.Micros(p.Created), engine.Micros(p.Expires), engine.Micros(p.Decided), p.Why, b.Text(p.Terms), string(p.Delivery), engine.TextLabel(p.Reason), p.Channel,
		}})
	}
	for _, m := range c.Approvals {
		p := m.Approval
		b.add(engine.Statement{SQL: moveApproval, Else: sessions.ErrConflict, Args: []any{
			string(p.Status), p.Reason.Raw(), engine.TextLabel(p.Reason), p.By, engine.Micros(p.Decided), string(p.ID), string(m.From),
		}})
	}
	for _, u := range c.DenyPending {
		b.add(engine.Statement{SQL: denyPendingOfRun, Args: []any{u.Reason, engine.Micros(u.At), string(u.Run)}})
	}
}

func scanApproval(row engine.Row) (ledger.Approval, error) {
	var p ledger.Approval
	var id, session, run, args, status, terms, delivery string
	var reason engine.LabelledText
	var level, trust int
	var created, expires, decided int64
	err := row.Scan(&id, &session, &run, &p.Agent, &p.CallID, &p.Tool, &args, &level, &trust, &status, &reason.Text, &p.By, &created, &expires, &decided,
		&p.Why, &terms, &delivery, &reason.Label, &p.Channel)
	p.ID, p.Session, p.Run, p.Status = ledger.ApprovalID(id), sessions.ID(session), sessions.RunID(run), ledger.ApprovalStatus(status)
	p.Label, p.Created, p.Expires, p.Decided = engine.LabelFrom(level, trust), engine.FromMicros(created), engine.FromMicros(expires), engine.FromMicros(decided)
	p.Reason = reason.Labelled(p.Label)
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
func (db approvalTable) Approval(ctx context.Context, id ledger.ApprovalID) (ledger.Approval, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+approvalColumns+` FROM approvals WHERE id = ?`, []any{string(id)}, scanApproval)
}

// ListApprovals implements [ledger.Browser].
func (db approvalTable) ListApprovals(ctx context.Context, q ledger.Query) ([]ledger.Approval, error) {
	f, order := approvalsOf(q), ` ORDER BY created DESC, id DESC`
	if q.Status == string(ledger.ApprovalPending) {
		f.AfterLater(q.After, q.MaxLevel, "approvals", "expires", "session_id")
		order = ` ORDER BY expires, id`
	} else {
		f.AfterPlace(q.After, q.MaxLevel, "approvals", "created", "session_id")
	}
	return engine.Listed(ctx, db.Conn, q.Bound, engine.Page(q.Limit), `SELECT `+approvalColumns+` FROM approvals`+f.Where()+order, f.Args, scanApproval)
}

// CountApprovalsOf implements [ledger.Browser].
func (db approvalTable) CountApprovalsOf(ctx context.Context, q ledger.Query, limit int) (int, error) {
	return views.Count(ctx, db.Conn, "approvals", approvalsOf(q), limit)
}

func approvalsOf(q ledger.Query) engine.Filter {
	f := engine.Filter{}
	f.Within(q.MaxLevel, "approvals", "session_id")
	f.AddIf(q.Status != "", `status = ?`, q.Status)
	f.AddIf(q.Channel != "", `channel = ?`, q.Channel)
	f.AddIf(q.Session != "", `session_id = ?`, string(q.Session))
	f.AddIf(q.Kind == ledger.AskCall, `delivery_id = ''`)
	f.AddIf(q.Kind == ledger.AskMessage, `delivery_id <> ''`)
	f.AddIf(!q.Unexpired.IsZero(), `expires > ?`, engine.Micros(q.Unexpired))
	return f
}
