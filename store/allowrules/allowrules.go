// Package allowrules has the SQL of the rules that always allow tool calls.
package allowrules

import (
	"context"
	"encoding/json"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	columns = `id, agent, tool, args, terms, level, trust, approval, made_by, created`
	insert  = `INSERT INTO allow_rules (` + columns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	remove  = `DELETE FROM allow_rules WHERE id = ?`
)

// Table reads the rules.
type Table struct{ *engine.Conn }

// Write returns the statements of a change.
func Write(e *engine.Encoding, c *ledger.Change) engine.Write {
	var w engine.Write
	for _, r := range c.AllowRules {
		level, trust := engine.Label(r.Label)
		w = append(w, engine.Statement{SQL: insert, Duplicate: sessions.ErrDuplicate, Args: []any{
			r.ID, engine.Indexed(r.Agent), engine.Indexed(r.Tool), string(r.Args), e.Text(r.Terms), level, trust, string(r.Approval), r.By, engine.Micros(r.Created),
		}})
	}
	for _, id := range c.EndAllowRules {
		w = append(w, engine.Statement{SQL: remove, Args: []any{engine.Indexed(id)}, Else: sessions.ErrNotFound})
	}
	return w
}

func scan(row engine.Row) (ledger.AllowRule, error) {
	var r ledger.AllowRule
	var args, terms, approval string
	var level, trust int
	var created int64
	if err := row.Scan(&r.ID, &r.Agent, &r.Tool, &args, &terms, &level, &trust, &approval, &r.By, &created); err != nil {
		return r, err
	}
	var d engine.Decoding
	d.Into(terms, &r.Terms)
	r.Args, r.Label, r.Approval, r.Created = json.RawMessage(args), engine.LabelFrom(level, trust), ledger.ApprovalID(approval), engine.FromMicros(created)
	return r, d.Err
}

// AllowRulesOf implements [ledger.Approvals].
func (db Table) AllowRulesOf(ctx context.Context, agent, tool string) ([]ledger.AllowRule, error) {
	return engine.All(ctx, db.Conn, `SELECT `+columns+` FROM allow_rules WHERE agent = ? AND tool = ? ORDER BY created, id`+engine.Limit(ledger.AllowRulesMax),
		[]any{engine.Indexed(agent), engine.Indexed(tool)}, scan)
}

// AllowRule reads a rule, or returns ErrNotFound.
func (db Table) AllowRule(ctx context.Context, id string) (ledger.AllowRule, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+columns+` FROM allow_rules WHERE id = ?`, []any{engine.Indexed(id)}, scan)
}

// ListAllowRules reads all rules, the newest first.
func (db Table) ListAllowRules(ctx context.Context) ([]ledger.AllowRule, error) {
	return engine.All(ctx, db.Conn, `SELECT `+columns+` FROM allow_rules ORDER BY created DESC, id`+engine.Limit(ledger.AllowRulesMax), nil, scan)
}
