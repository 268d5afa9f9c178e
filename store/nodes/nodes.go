// Package nodes has the SQL of nodes.
package nodes

import (
	"context"
	"strconv"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	nodeColumns = `id, revision, status, code, token, level, trust, body, created, expires, changed`
	insertNode  = `INSERT INTO nodes (` + nodeColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	moveNode    = `UPDATE nodes SET revision = ?, status = ?, code = ?, level = ?, trust = ?, body = ?, expires = ?, changed = ? WHERE id = ? AND revision = ?`
)

// Table reads nodes.
type Table struct{ *engine.Conn }

// Removal removes the oldest nodes that are not approved, at most limit.
func Removal(limit int) string {
	return `DELETE FROM nodes WHERE id IN (SELECT id FROM nodes WHERE status <> 'approved' AND changed < ? ORDER BY changed LIMIT ` + strconv.Itoa(limit) + `)`
}

// Write returns the statements that store nodes.
func Write(e *engine.Encoding, all []ledger.Node) engine.Write {
	var w engine.Write
	for _, n := range all {
		level, trust := engine.Label(n.Label)
		if n.Revision == 1 {
			w = append(w, engine.Statement{SQL: insertNode, Duplicate: sessions.ErrDuplicate, Args: []any{
				engine.Indexed(n.ID), n.Revision, string(n.Status), engine.Indexed(n.Code), engine.Indexed(n.Token), level, trust, e.Text(n.NodeDetail),
				engine.Micros(n.Created), engine.Micros(n.Expires), engine.Micros(n.Changed),
			}})
			continue
		}
		w = append(w, engine.Statement{SQL: moveNode, Else: sessions.ErrConflict, Args: []any{
			n.Revision, string(n.Status), engine.Indexed(n.Code), level, trust, e.Text(n.NodeDetail), engine.Micros(n.Expires), engine.Micros(n.Changed),
			engine.Indexed(n.ID), n.Revision - 1,
		}})
	}
	return w
}

func scanNode(row engine.Row) (ledger.Node, error) {
	var n ledger.Node
	var status, body string
	var level, trust int
	var created, expires, changed int64
	if err := row.Scan(&n.ID, &n.Revision, &status, &n.Code, &n.Token, &level, &trust, &body, &created, &expires, &changed); err != nil {
		return n, err
	}
	var d engine.Decoding
	d.Into(body, &n.NodeDetail)
	n.Status, n.Label = ledger.NodeStatus(status), engine.LabelFrom(level, trust)
	n.Created, n.Expires, n.Changed = engine.FromMicros(created), engine.FromMicros(expires), engine.FromMicros(changed)
	return n, d.Err
}

// Node implements [ledger.Store].
func (db Table) Node(ctx context.Context, id string) (ledger.Node, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+nodeColumns+` FROM nodes WHERE id = ?`, []any{engine.Indexed(id)}, scanNode)
}

// NodeByToken implements [ledger.Store].
func (db Table) NodeByToken(ctx context.Context, hash string) (ledger.Node, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+nodeColumns+` FROM nodes WHERE token = ?`, []any{engine.Indexed(hash)}, scanNode)
}

// ListNodes implements [ledger.Store].
func (db Table) ListNodes(ctx context.Context, q ledger.NodeQuery) ([]ledger.Node, error) {
	f := engine.Filter{}
	if q.Status != "" {
		f.Add(`status = ?`, string(q.Status))
	}
	f.Within(q.MaxLevel, "nodes")
	return engine.Listed(ctx, db.Conn, nil, engine.Page(q.Limit), `SELECT `+nodeColumns+` FROM nodes`+f.Where()+` ORDER BY created, id`, f.Args, scanNode)
}
