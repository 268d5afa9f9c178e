package store

import (
	"context"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	hookColumns = `id, hook, request_id, once, digest, level, trust, body, received`
	insertHook  = `INSERT INTO hook_requests (` + hookColumns + `, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

func (b *writer) hookRequest(r ledger.HookRequest) {
	level, trust := engine.Label(r.Label)
	payload := r.Payload
	if payload == nil {
		payload = []byte{} // not NULL
	}
	b.add(engine.Statement{SQL: insertHook, Duplicate: sessions.ErrDuplicate, Args: []any{
		engine.Indexed(r.Key), engine.Indexed(r.Hook), r.ID, engine.Indexed(r.Once), r.Digest, level, trust, b.Text(r.HookDetail), engine.Micros(r.Received), payload,
	}})
}

// HookRequest implements [ledger.Store].
func (db hookTable) HookRequest(ctx context.Context, key string) (ledger.HookRequest, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+hookColumns+`, payload FROM hook_requests WHERE id = ?`, []any{engine.Indexed(key)}, func(row engine.Row) (ledger.HookRequest, error) {
		var payload []byte
		r, err := scanHook(row, &payload)
		r.Payload = payload
		return r, err
	})
}

// HookRequestOnce implements [ledger.Store].
func (db hookTable) HookRequestOnce(ctx context.Context, hook, once string) (ledger.HookRequest, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+hookColumns+` FROM hook_requests WHERE hook = ? AND once = ? AND once <> ''`, []any{engine.Indexed(hook), engine.Indexed(once)},
		func(row engine.Row) (ledger.HookRequest, error) { return scanHook(row) })
}

// ListHookRequests implements [ledger.Store].
func (db hookTable) ListHookRequests(ctx context.Context, q ledger.HookQuery) ([]ledger.HookRequest, error) {
	f := engine.Filter{}
	f.Add(`hook = ?`, engine.Indexed(q.Hook))
	f.Within(q.MaxLevel, "hook_requests")
	f.AfterPlace(engine.Indexed(q.After), q.MaxLevel, "hook_requests", "received")
	return engine.Listed(ctx, db.Conn, q.Bound, engine.Page(q.Limit), `SELECT `+hookColumns+` FROM hook_requests`+f.Where()+` ORDER BY received DESC, id DESC`, f.Args,
		func(row engine.Row) (ledger.HookRequest, error) { return scanHook(row) })
}

func scanHook(row engine.Row, more ...any) (ledger.HookRequest, error) {
	var r ledger.HookRequest
	var body string
	var level, trust int
	var received int64
	if err := row.Scan(append([]any{&r.Key, &r.Hook, &r.ID, &r.Once, &r.Digest, &level, &trust, &body, &received}, more...)...); err != nil {
		return r, err
	}
	var d engine.Decoding
	d.Into(body, &r.HookDetail)
	r.Label, r.Received = engine.LabelFrom(level, trust), engine.FromMicros(received)
	return r, d.Err
}
