package views

import (
	"context"
	"strconv"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	refusalColumns = `id, channel, account, chat_type, chat, title, user_id, user_name, reason, level, times, first, last`
	saveRefusal    = `INSERT INTO refusals (` + refusalColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET title = excluded.title, user_name = excluded.user_name, reason = excluded.reason, level = excluded.level,
			times = refusals.times + excluded.times, last = excluded.last`
)

var oldRefusals = `DELETE FROM refusals WHERE last < (SELECT last FROM refusals ORDER BY last DESC LIMIT 1 OFFSET ` + strconv.Itoa(ledger.RefusalsMax-1) + `)`

// SaveRefusals implements [refused.Store].
func (db Table) SaveRefusals(ctx context.Context, all []ledger.Refusal) error {
	var w engine.Write
	for _, r := range all {
		w = append(w, engine.Statement{SQL: saveRefusal, Args: []any{
			r.ID, r.Channel, r.Account, string(r.ChatType), engine.Indexed(r.Chat), r.Title, engine.Indexed(r.User.ID), r.User.Name, r.Reason, r.Level.Rank(), r.Count,
			engine.Micros(r.First), engine.Micros(r.Last),
		}})
	}
	return db.Change(ctx, append(w, engine.Statement{SQL: oldRefusals}))
}

func scanRefusal(row engine.Row) (ledger.Refusal, error) {
	var r ledger.Refusal
	var kind, chat, user string
	var level int
	var first, last int64
	err := row.Scan(&r.ID, &r.Channel, &r.Account, &kind, &chat, &r.Title, &user, &r.User.Name, &r.Reason, &level, &r.Count, &first, &last)
	r.ChatType, r.Chat, r.User.ID = sessions.ChatType(kind), sessions.ConversationID(chat), sessions.UserID(user)
	r.Level, _ = flow.LevelFromRank(level) // an invalid one is shown to nobody
	r.First, r.Last = engine.FromMicros(first), engine.FromMicros(last)
	return r, err
}

// Refusal reads a refusal, or returns ErrNotFound.
func (db Table) Refusal(ctx context.Context, id string) (ledger.Refusal, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+refusalColumns+` FROM refusals WHERE id = ?`, []any{id}, scanRefusal)
}

// ListRefusals reads the latest refusals before a time, up to a level.
func (db Table) ListRefusals(ctx context.Context, most flow.Level, before time.Time, limit int) ([]ledger.Refusal, error) {
	f := engine.Filter{}
	f.Add(`level <= ?`, most.Rank())
	f.AddIf(!before.IsZero(), `last < ?`, engine.Micros(before))
	return engine.All(ctx, db.Conn, `SELECT `+refusalColumns+` FROM refusals`+f.Where()+` ORDER BY last DESC, id`+engine.Limit(engine.Page(limit)), f.Args, scanRefusal)
}
