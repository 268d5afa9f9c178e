// Package cooldowns has the rows of API keys and models that have failed.
package cooldowns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/internal/model/cooldown"
	"sluice/sessions"
	"sluice/sessions/port"
	"sluice/store/engine"
)

const (
	columns = `provider, api_key, model, mark, kind, step, since, ends`
	read    = `SELECT ` + columns + ` FROM model_cooldowns`
	put     = `INSERT INTO model_cooldowns (` + columns + `, probed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (provider, api_key, model)
		DO UPDATE SET mark = excluded.mark, kind = excluded.kind, step = excluded.step, since = excluded.since, ends = excluded.ends, probed = 0`
	place = ` WHERE provider = ? AND api_key = ? AND model = ?`
	drop  = `DELETE FROM model_cooldowns` + place
	claim = `UPDATE model_cooldowns SET probed = ?` + place + ` AND probed < ?`
)

// Table has the rows. It implements [cooldown.Store].
type Table struct{ *engine.Conn }

var _ cooldown.Store = Table{}

// Cooldowns implements [cooldown.Store].
func (t Table) Cooldowns(ctx context.Context) ([]cooldown.State, error) {
	return engine.All(ctx, t.Conn, read, nil, scan)
}

func scan(row engine.Row) (cooldown.State, error) {
	var s cooldown.State
	var kind string
	var since, ends int64
	err := row.Scan(&s.Provider, &s.Key, &s.Model, &s.Mark, &kind, &s.Step, &since, &ends)
	s.Kind, s.Since, s.Until = port.ModelErrorKind(kind), engine.FromMicros(since), engine.FromMicros(ends)
	return s, err
}

// PutCooldown implements [cooldown.Store].
func (t Table) PutCooldown(ctx context.Context, s cooldown.State) error {
	args := append(where(s.Place), s.Mark, string(s.Kind), s.Step, engine.Micros(s.Since), engine.Micros(s.Until))
	if err := t.Change(ctx, engine.Write{{SQL: put, Args: args}}); err != nil {
		return fmt.Errorf("store cooldown: %w", err)
	}
	return nil
}

// DropCooldown implements [cooldown.Store].
func (t Table) DropCooldown(ctx context.Context, p cooldown.Place) error {
	if err := t.Change(ctx, engine.Write{{SQL: drop, Args: where(p)}}); err != nil {
		return fmt.Errorf("remove cooldown: %w", err)
	}
	return nil
}

// ClaimProbe implements [cooldown.Store].
func (t Table) ClaimProbe(ctx context.Context, p cooldown.Place, now, before time.Time) (bool, error) {
	args := append(append([]any{engine.Micros(now)}, where(p)...), engine.Micros(before))
	err := t.Change(ctx, engine.Write{{SQL: claim, Args: args, Else: sessions.ErrConflict}})
	switch {
	case errors.Is(err, sessions.ErrConflict):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("claim probe: %w", err)
	}
	return true, nil
}

func where(p cooldown.Place) []any {
	return []any{engine.Indexed(p.Provider), engine.Indexed(p.Key), engine.Indexed(p.Model)}
}
