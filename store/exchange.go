package store

import (
	"context"

	"sluice/announce"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	exchangeColumns = `id, revision, kind, requester, target, first_run, run_id, body, route, chain, level, trust, started, ended, request_key`
	insertExchange  = `INSERT INTO exchanges (` + exchangeColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updateExchange  = `UPDATE exchanges SET revision = ?, run_id = ?, body = ?, level = ?, trust = ?, ended = ? WHERE id = ? AND revision = ?`
	useChain        = `INSERT INTO chains (id, steps, tokens, started) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET steps = chains.steps + excluded.steps, tokens = chains.tokens + excluded.tokens`
)

func (b *writer) exchange(x ledger.Exchange) {
	level, trust := engine.Label(x.Label)
	if x.Revision == 1 {
		b.add(engine.Statement{SQL: insertExchange, Duplicate: sessions.ErrDuplicate, Args: []any{
			x.ID, x.Revision, string(x.Kind), string(x.Requester.Session), string(x.Target.Session), string(x.First), string(x.Run), b.Text(x.Exchange), b.route(x.Route),
			b.chain(x.Chain), level, trust, engine.Micros(x.Started), engine.Micros(x.Ended), engine.Indexed(x.Key),
		}})
		return
	}
	b.add(engine.Statement{SQL: updateExchange, Else: sessions.ErrConflict, Args: []any{
		x.Revision, string(x.Run), b.Text(x.Exchange), level, trust, engine.Micros(x.Ended), x.ID, x.Revision - 1,
	}})
}

func (b *writer) chainUse(u ledger.ChainUse) {
	b.add(engine.Statement{SQL: useChain, Args: []any{u.ID, u.Steps, u.Tokens, engine.Micros(u.Started)}})
}

func scanExchange(row engine.Row) (ledger.Exchange, error) {
	var x ledger.Exchange
	var id, kind, requester, target, first, run, body, route, chain string
	var level, trust int
	var started, ended int64
	err := row.Scan(&id, &x.Revision, &kind, &requester, &target, &first, &run, &body, &route, &chain, &level, &trust, &started, &ended, &x.Key)
	if err != nil {
		return x, err
	}
	if body == "" { // retention has removed the text
		x.ID, x.Kind, x.Phase = id, announce.Kind(kind), announce.Ended
		x.Requester.Session, x.Target.Session = sessions.ID(requester), sessions.ID(target)
	}
	var d engine.Decoding
	d.Into(body, &x.Exchange)
	d.Into(route, &x.Route)
	d.Into(chain, &x.Chain)
	x.First, x.Run, x.Label = sessions.RunID(first), sessions.RunID(run), engine.LabelFrom(level, trust)
	x.Started, x.Ended = engine.FromMicros(started), engine.FromMicros(ended)
	return x, d.Err
}

// Exchange implements [ledger.Store].
func (db exchangeTable) Exchange(ctx context.Context, id string) (ledger.Exchange, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+exchangeColumns+` FROM exchanges WHERE id = ?`, []any{id}, scanExchange)
}

// ExchangeByKey implements [ledger.Store].
func (db exchangeTable) ExchangeByKey(ctx context.Context, key string) (ledger.Exchange, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+exchangeColumns+` FROM exchanges WHERE request_key = ? AND request_key <> ''`, []any{engine.Indexed(key)}, scanExchange)
}

// ListExchanges implements [ledger.Store].
func (db exchangeTable) ListExchanges(ctx context.Context, q ledger.ExchangeQuery) ([]ledger.Exchange, error) {
	f := engine.Filter{}
	f.Within(q.MaxLevel, "exchanges", "requester", "target")
	f.AddIf(q.Requester != "", `requester = ?`, string(q.Requester))
	f.AddIf(q.Target != "", `target = ?`, string(q.Target))
	f.AddIf(q.Kind != "", `kind = ?`, string(q.Kind))
	f.AddIf(q.Open, `ended = 0`)
	f.AfterPlace(q.After, q.MaxLevel, "exchanges", "started", "requester", "target")
	return engine.Listed(ctx, db.Conn, q.Bound, engine.Page(q.Limit), `SELECT `+exchangeColumns+` FROM exchanges`+f.Where()+` ORDER BY started DESC, id DESC`, f.Args, scanExchange)
}

// Chain implements [ledger.Store].
func (db exchangeTable) Chain(ctx context.Context, id string) (ledger.ChainUse, error) {
	return engine.Single(ctx, db.Conn, `SELECT steps, tokens, started FROM chains WHERE id = ?`, []any{id}, func(row engine.Row) (ledger.ChainUse, error) {
		u := ledger.ChainUse{ID: id}
		var started int64
		err := row.Scan(&u.Steps, &u.Tokens, &started)
		u.Started = engine.FromMicros(started)
		return u, err
	})
}
