package store

import (
	"context"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	checkColumns = `name, revision, level, trust, body, looked`
	insertCheck  = `INSERT INTO checks (` + checkColumns + `) VALUES (?, ?, ?, ?, ?, ?)`
	moveCheck    = `UPDATE checks SET revision = ?, level = ?, trust = ?, body = ?, looked = ? WHERE name = ? AND revision = ?`
)

func (b *writer) check(c ledger.Check) {
	level, trust := engine.Label(c.Label)
	if c.Revision == 1 {
		b.add(engine.Statement{SQL: insertCheck, Duplicate: sessions.ErrDuplicate, Args: []any{
			engine.Indexed(c.Name), c.Revision, level, trust, b.Text(c.CheckDetail), engine.Micros(c.Looked),
		}})
		return
	}
	b.add(engine.Statement{SQL: moveCheck, Else: sessions.ErrConflict, Args: []any{
		c.Revision, level, trust, b.Text(c.CheckDetail), engine.Micros(c.Looked), engine.Indexed(c.Name), c.Revision - 1,
	}})
}

func scanCheck(row engine.Row) (ledger.Check, error) {
	var c ledger.Check
	var body string
	var level, trust int
	var looked int64
	if err := row.Scan(&c.Name, &c.Revision, &level, &trust, &body, &looked); err != nil {
		return c, err
	}
	var d engine.Decoding
	d.Into(body, &c.CheckDetail)
	c.Label, c.Looked = engine.LabelFrom(level, trust), engine.FromMicros(looked)
	return c, d.Err
}

// Check implements [ledger.Store].
func (db checkTable) Check(ctx context.Context, name string) (ledger.Check, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+checkColumns+` FROM checks WHERE name = ?`, []any{engine.Indexed(name)}, scanCheck)
}
