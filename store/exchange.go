package store

import (
	"context"

	"sluice/announce"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	exchangeColumns = `id, revision, kind, requester, target, first_run, run_id, body, route, chain, level, trust, started, ended, request_key`
	insertExchange  = `INSERT INTO exchanges (` + exchangeColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updateExchange  = `UPDATE exchanges SET revision = ?, run_id = ?, body = ?, level = ?, trust = ?, ended = ? WHERE id = ? AND revision = ?`
	useChain        = `INSERT INTO chains (id, steps, tokens, started) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET steps = chains.steps + excluded.steps, tokens = chains.tokens + excluded.tokens`
)

func (b *writer) exchange(x ledger.Exchange) {
	level, trust := label(x.Label)
	if x.Revision == 1 {
		b.add(Statement{SQL: insertExchange, Duplicate: sessions.ErrDuplicate, Args: []any{
			x.ID, x.Revision, string(x.Kind), string(x.Requester.Session), string(x.Target.Session), string(x.First), string(x.Run), b.text(x.Exchange), b.route(x.Route),
			b.chain(x.Chain), level, trust, micros(x.Started), micros(x.Ended), indexed(x.Key),
		}})
		return
	}
	b.add(Statement{SQL: updateExchange, Else: sessions.ErrConflict, Args: []any{
		x.Revision, string(x.Run), b.text(x.Exchange), level, trust, micros(x.Ended), x.ID, x.Revision - 1,
	}})
}

func (b *writer) chainUse(u ledger.ChainUse) {
	b.add(Statement{SQL: useChain, Args: []any{u.ID, u.Steps, u.Tokens, micros(u.Started)}})
}

func scanExchange(row Row) (ledger.Exchange, error) {
	var x ledger.Exchange
	var id, kind, requester, target, first, run, body, route, chain string
	var level, trust int
	var started, ended int64
	err := row.Scan(&id, &x.Revision, &kind, &requester, &target, &first, &run, &body, &route, &chain, &level, &trust, &started, &ended, &x.Key)
	if err != nil {
		return x, err
	}
	if body == "" { // retention has taken out what was said
		x.ID, x.Kind, x.Phase = id, announce.Kind(kind), announce.Ended
		x.Requester.Session, x.Target.Session = sessions.ID(requester), sessions.ID(target)
	}
	var d decoding
	d.into(body, &x.Exchange)
	d.into(route, &x.Route)
	d.into(chain, &x.Chain)
	x.First, x.Run, x.Label = sessions.RunID(first), sessions.RunID(run), labelFrom(level, trust)
	x.Started, x.Ended = fromMicros(started), fromMicros(ended)
	return x, d.err
}

// Exchange implements [ledger.Store].
func (db *DB) Exchange(ctx context.Context, id string) (ledger.Exchange, error) {
	return single(ctx, db, `SELECT `+exchangeColumns+` FROM exchanges WHERE id = ?`, []any{id}, scanExchange)
}

// ExchangeByKey implements [ledger.Store].
func (db *DB) ExchangeByKey(ctx context.Context, key string) (ledger.Exchange, error) {
	return single(ctx, db, `SELECT `+exchangeColumns+` FROM exchanges WHERE request_key = ? AND request_key <> ''`, []any{indexed(key)}, scanExchange)
}

// ListExchanges implements [ledger.Store].
func (db *DB) ListExchanges(ctx context.Context, q ledger.ExchangeQuery) ([]ledger.Exchange, error) {
	f := filter{}
	f.within(q.MaxLevel, "exchanges", "requester", "target")
	f.addIf(q.Requester != "", `requester = ?`, string(q.Requester))
	f.addIf(q.Target != "", `target = ?`, string(q.Target))
	f.addIf(q.Kind != "", `kind = ?`, string(q.Kind))
	f.addIf(q.Open, `ended = 0`)
	f.afterPlace(q.After, q.MaxLevel, "exchanges", "started", "requester", "target")
	return listed(ctx, db, q.Bound, page(q.Limit), `SELECT `+exchangeColumns+` FROM exchanges`+f.where()+` ORDER BY started DESC, id DESC`, f.args, scanExchange)
}

// Chain implements [ledger.Store].
func (db *DB) Chain(ctx context.Context, id string) (ledger.ChainUse, error) {
	return single(ctx, db, `SELECT steps, tokens, started FROM chains WHERE id = ?`, []any{id}, func(row Row) (ledger.ChainUse, error) {
		u := ledger.ChainUse{ID: id}
		var started int64
		err := row.Scan(&u.Steps, &u.Tokens, &started)
		u.Started = fromMicros(started)
		return u, err
	})
}
